;; Fills tables of Maglev, and compares them: components/object_cache/maglev.py.
(module
  (memory (export "memory") 1)

  ;; Fill the table of $size entries at $table. $hosts is where the hosts' records are, $end where
  ;; they end: next place, step, number. $taken is a bitmap of the entries, all free: it fits into
  ;; a processor's cache where the table does not.
  (func (export "fill")
    (param $hosts i32) (param $end i32) (param $taken i32) (param $table i32) (param $size i32)
    (local $host i32) (local $left i32) (local $place i32) (local $step i32)
    (local $entry i32) (local $word i32) (local $bit i32)
    (local.set $host (local.get $hosts))
    (local.set $left (local.get $size))
    (loop $turn
      (local.set $place (i32.load (local.get $host)))
      (local.set $step (i32.load offset=4 (local.get $host)))
      (loop $probe
        (local.set $entry (local.get $place))
        (local.set $place (i32.add (local.get $place) (local.get $step)))
        (local.set $place (i32.sub (local.get $place) (select
          (local.get $size) (i32.const 0) (i32.ge_u (local.get $place) (local.get $size)))))
        (local.set $word (i32.add (local.get $taken)
          (i32.shl (i32.shr_u (local.get $entry) (i32.const 5)) (i32.const 2))))
        (local.set $bit (i32.shl (i32.const 1) (local.get $entry)))
        (br_if $probe (i32.and (i32.load (local.get $word)) (local.get $bit))))
      (i32.store (local.get $word) (i32.or (i32.load (local.get $word)) (local.get $bit)))
      (i32.store16
        (i32.add (local.get $table) (i32.shl (local.get $entry) (i32.const 1)))
        (i32.load offset=8 (local.get $host)))
      (i32.store (local.get $host) (local.get $place))
      (local.set $host (i32.add (local.get $host) (i32.const 12)))
      (local.set $host (select
        (local.get $hosts) (local.get $host) (i32.eq (local.get $host) (local.get $end))))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $turn (local.get $left))))

  ;; How many of $size entries differ between the tables at $one and $other.
  (func (export "differing")
    (param $one i32) (param $other i32) (param $size i32) (result i32)
    (local $found i32)
    (loop $next
      (local.set $found (i32.add (local.get $found)
        (i32.ne (i32.load16_u (local.get $one)) (i32.load16_u (local.get $other)))))
      (local.set $one (i32.add (local.get $one) (i32.const 2)))
      (local.set $other (i32.add (local.get $other) (i32.const 2)))
      (local.set $size (i32.sub (local.get $size) (i32.const 1)))
      (br_if $next (local.get $size)))
    (local.get $found)))
