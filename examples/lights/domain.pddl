; A lamp is lit when power reaches it through closed switches: a recursive derived predicate (an axiom),
; worked out anew after every step. Flipping is a conditional effect, `all-off` a quantified one.
(define (domain lights)
  (:requirements :adl :derived-predicates)
  (:types
    node - object
    lamp source - node
    switch - object)
  (:predicates
    (wire ?s - switch ?from ?to - node)
    (closed ?s - switch)
    (broken ?l - lamp)
    (spare))

  (:derived (powered ?n - node)
    (or
      (exists (?s - source) (= ?n ?s))
      (exists (?s - switch ?from - node)
        (and
          (powered ?from)
          (closed ?s)
          (or (wire ?s ?from ?n) (wire ?s ?n ?from))))))

  (:derived (lit ?l - lamp) (and (powered ?l) (not (broken ?l))))

  (:action flip
    :parameters (?s - switch)
    :precondition (and)
    :effect (and
      (when (closed ?s) (not (closed ?s)))
      (when (not (closed ?s)) (closed ?s))))

  ; One spare bulb, and a lamp must be without power while hands are in it.
  (:action replace
    :parameters (?l - lamp)
    :precondition (and (spare) (broken ?l) (not (powered ?l)))
    :effect (and (not (broken ?l)) (not (spare))))

  ; The main switch: everything off.
  (:action all-off
    :parameters ()
    :precondition (exists (?s - switch) (closed ?s))
    :effect (forall (?s - switch) (not (closed ?s)))))
