// Solves puzzles beside the page, which goes on counting and answering meanwhile.

import { search } from './puzzle.js';

addEventListener('message', ({ data }) => postMessage(search(data)(Infinity)));
