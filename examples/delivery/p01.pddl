; Two parcels, two customers along one road, and an island that only the drone reaches.
(define (problem delivery-p01)
  (:domain delivery)
  (:objects
    mill farm island - customer
    van - truck
    kite - drone
    letter crate - parcel)
  (:init
    (road hub mill)
    (road mill hub)
    (road mill farm)
    (road farm mill)
    (at van hub)
    (at kite hub)
    (at letter hub)
    (at crate hub)
    (= (distance hub mill) 2)
    (= (distance mill hub) 2)
    (= (distance mill farm) 3)
    (= (distance farm mill) 3)
    (= (total-cost) 0))
  (:goal (and (at crate farm) (at letter island)))
  (:metric minimize (total-cost)))
