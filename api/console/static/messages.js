// What the console says, by language.

import en from './en.js';
import zh from './zh.js';

export default { en, zh };
