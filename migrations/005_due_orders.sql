-- Orders that wait for their payment, by the time until which they may be paid.
-- A view that is built again gets this index like every other one.
create index order_view_due on order_view (pay_by, order_id) where status = 'placed';
