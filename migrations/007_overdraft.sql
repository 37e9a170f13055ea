-- An item may have an overdraft: units beyond the stock that the log accepts to
-- keep a promise which the gate forgot. The guard still refuses what is beyond it.
alter table guards
  add column overdraft bigint not null default 0 check (overdraft >= 0),
  drop constraint guards_left_not_negative,
  add constraint guards_left_not_negative check (released - reserved + returned + overdraft >= 0);
