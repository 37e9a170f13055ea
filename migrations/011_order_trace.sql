-- Orders by the trace id of their purchase: whoever has nothing but what was in the
-- answer's X-Trace-Id finds the order. It stands on the view, not on the log: appends
-- cost no more, and a hash index of random ids is a third of a sorted one.
create index order_view_trace on order_view using hash (trace_id);

insert into schema_compatibility (version, oldest_program) values (11, 9);
