//! Power series as chains of goroutines (`test/chan/powser1.go`, `powser2.go`, after McIlroy's
//! "Squinting at power series"). Own code, same construction.
//!
//! A series is a pair of channels: one carries requests to the producer, the other carries
//! coefficients back. A coefficient is computed only on request, so infinite and self-referential
//! series work. A series ends when its producer is dropped. A producer ends when no consumer can
//! send a request.

use gmp::chan::{Receiver, Sender};
use gmp::{chan, go, select};
use std::collections::VecDeque;
use std::fmt;

/// A rational number, in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rat(i128, i128);

impl Rat {
    const ZERO: Self = Self(0, 1);
    const ONE: Self = Self(1, 1);

    fn new(above: i128, below: i128) -> Self {
        fn gcd(a: i128, b: i128) -> i128 {
            if b == 0 { a.abs() } else { gcd(b, a % b) }
        }
        assert_ne!(below, 0, "division by zero");
        let divisor = gcd(above, below) * below.signum();
        Self(above / divisor, below / divisor)
    }

    fn int(n: i128) -> Self {
        Self(n, 1)
    }

    fn inverse(self) -> Self {
        Self::new(self.1, self.0)
    }
}

impl fmt::Debug for Rat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
}

impl std::ops::Add for Rat {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }
}

impl std::ops::Mul for Rat {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.0 * other.0, self.1 * other.1)
    }
}

impl std::ops::Neg for Rat {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0, self.1)
    }
}

/// The consumer's end of a series.
#[derive(Debug)]
struct Series {
    demand: Sender<()>,
    data: Receiver<Rat>,
}

/// The producer's end of a series.
#[derive(Debug)]
struct Producer {
    demand: Receiver<()>,
    data: Sender<Rat>,
}

fn series() -> (Producer, Series) {
    let ((ask, demand), (data, get)) = (chan(0), chan(0));
    (Producer { demand, data }, Series { demand: ask, data: get })
}

impl Series {
    /// Returns the next coefficient, or `None` at the end of the series.
    async fn next(&self) -> Option<Rat> {
        self.demand.send(()).await.ok()?;
        self.data.recv().await.ok()
    }

    /// Returns the first `count` coefficients.
    async fn take(&self, count: usize) -> Vec<Rat> {
        let mut terms = Vec::new();
        while terms.len() < count
            && let Some(term) = self.next().await
        {
            terms.push(term);
        }
        terms
    }
}

impl Producer {
    /// Waits for a request. Returns `false` if there will be none.
    async fn wanted(&self) -> bool {
        self.demand.recv().await.is_ok()
    }

    /// Answers a request.
    async fn give(&self, term: Rat) -> bool {
        self.data.send(term).await.is_ok()
    }

    async fn put(&self, term: Rat) -> bool {
        self.wanted().await && self.give(term).await
    }

    /// Answers all further requests from `rest`.
    async fn copy(self, rest: Series) {
        while self.wanted().await
            && let Some(term) = rest.next().await
            && self.give(term).await
        {}
    }
}

/// The progress of one of two requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Ask,
    Asked,
    Done,
}

/// Requests the next coefficients of both series at the same time.
async fn next_of_both(u: &Series, v: &Series) -> (Option<Rat>, Option<Rat>) {
    let (mut of_u, mut of_v) = (Step::Ask, Step::Ask);
    let (mut term_u, mut term_v) = (None, None);
    let asked = |sent: Result<(), _>| if sent.is_ok() { Step::Asked } else { Step::Done };
    while (of_u, of_v) != (Step::Done, Step::Done) {
        select! {
            sent = u.demand.send(()), if of_u == Step::Ask => of_u = asked(sent),
            sent = v.demand.send(()), if of_v == Step::Ask => of_v = asked(sent),
            got = u.data.recv(), if of_u == Step::Asked => (of_u, term_u) = (Step::Done, got.ok()),
            got = v.data.recv(), if of_v == Step::Asked => (of_v, term_v) = (Step::Done, got.ok()),
        }
    }
    (term_u, term_v)
}

/// One of the two copies that a split makes.
struct Copy {
    to: Producer,
    /// Coefficients that were not sent yet.
    terms: VecDeque<Rat>,
    wanted: bool,
    open: bool,
}

impl Copy {
    fn new(to: Producer) -> Self {
        Self { to, terms: VecDeque::new(), wanted: false, open: true }
    }

    fn may_be_asked(&self) -> bool {
        self.open && !self.wanted
    }

    fn may_give(&self) -> bool {
        self.open && self.wanted && !self.terms.is_empty()
    }

    fn starves(&self) -> bool {
        self.open && self.wanted && self.terms.is_empty()
    }

    /// Ends the copy if no coefficient can come.
    fn end_if_starving(&mut self) {
        if self.starves() {
            self.open = false;
            self.to.data.close();
        }
    }
}

/// Makes two copies of a series that are read independently. While it waits for the series itself,
/// it still sends the coefficients that a copy has not read: the series may depend on them.
async fn split(from: Series, a: Producer, b: Producer) {
    let (mut a, mut b) = (Copy::new(a), Copy::new(b));
    let mut step = Step::Ask;
    while a.open || b.open {
        if step == Step::Done {
            a.end_if_starving();
            b.end_if_starving();
            if !a.open && !b.open {
                return;
            }
        }
        let starving = a.starves() || b.starves();
        select! {
            r = a.to.demand.recv(), if a.may_be_asked() => (a.wanted, a.open) = (r.is_ok(), r.is_ok()),
            r = b.to.demand.recv(), if b.may_be_asked() => (b.wanted, b.open) = (r.is_ok(), r.is_ok()),
            r = a.to.data.send(a.terms.pop_front().unwrap()), if a.may_give() => {
                (a.wanted, a.open) = (false, r.is_ok());
            }
            r = b.to.data.send(b.terms.pop_front().unwrap()), if b.may_give() => {
                (b.wanted, b.open) = (false, r.is_ok());
            }
            r = from.demand.send(()), if step == Step::Ask && starving => {
                step = if r.is_ok() { Step::Asked } else { Step::Done };
            }
            r = from.data.recv(), if step == Step::Asked => match r {
                Ok(term) => {
                    a.terms.push_back(term);
                    b.terms.push_back(term);
                    step = Step::Ask;
                }
                Err(_) => step = Step::Done,
            },
        }
    }
}

fn two_of(u: Series) -> (Series, Series) {
    let ((to_a, a), (to_b, b)) = (series(), series());
    go!(split(u, to_a, to_b));
    (a, b)
}

/// Builds a series from itself: `make` gets one copy, the other one is the result.
fn feedback(make: impl FnOnce(Series) -> Series) -> Series {
    let ((to_a, a), (to_b, b)) = (series(), series());
    go!(split(make(a), to_a, to_b));
    b
}

fn repeated(term: Rat) -> Series {
    let (z, result) = series();
    go!({ while z.put(term).await {} });
    result
}

fn polynomial(terms: Vec<Rat>) -> Series {
    let (z, result) = series();
    go!({
        for term in terms {
            if !z.put(term).await {
                return;
            }
        }
        // The end of the series answers the request for one more.
        z.wanted().await;
    });
    result
}

/// Maps each term by `f`, which also gets the index of the term.
fn mapped(u: Series, f: impl Fn(i128, Rat) -> Rat + Send + 'static) -> Series {
    let (z, result) = series();
    go!({
        let mut place = 0;
        while z.wanted().await
            && let Some(term) = u.next().await
            && z.give(f(place, term)).await
        {
            place += 1;
        }
    });
    result
}

fn scaled(c: Rat, u: Series) -> Series {
    mapped(u, move |_, term| c * term)
}

fn sum(u: Series, v: Series) -> Series {
    let (z, result) = series();
    go!({
        while z.wanted().await {
            let go_on = match next_of_both(&u, &v).await {
                (Some(a), Some(b)) => z.give(a + b).await,
                (None, None) => return,
                (Some(a), None) => return rest(z, a, u).await,
                (None, Some(b)) => return rest(z, b, v).await,
            };
            if !go_on {
                return;
            }
        }
    });
    result
}

/// Answers a request with `term` and all further ones from `u`.
async fn rest(z: Producer, term: Rat, u: Series) {
    if z.give(term).await {
        z.copy(u).await;
    }
}

fn difference(u: Series, v: Series) -> Series {
    sum(u, scaled(-Rat::ONE, v))
}

/// c + x·u.
fn shifted(c: Rat, u: Series) -> Series {
    let (z, result) = series();
    go!({
        if z.put(c).await {
            z.copy(u).await;
        }
    });
    result
}

/// xⁿ·u.
fn times_x(n: usize, u: Series) -> Series {
    (0..n).fold(u, |u, _| shifted(Rat::ZERO, u))
}

/// u·v = u₀v₀ + x·(u₀v' + v₀u' + x·u'v'), where u = u₀ + x·u'.
fn product(u: Series, v: Series) -> Series {
    let (z, result) = series();
    go!({
        if !z.wanted().await {
            return;
        }
        let (Some(u0), Some(v0)) = next_of_both(&u, &v).await else { return };
        if !z.give(u0 * v0).await || !z.wanted().await {
            return;
        }
        let ((u1, u2), (v1, v2)) = (two_of(u), two_of(v));
        let w = sum(scaled(u0, v1), scaled(v0, u1));
        let Some(term) = w.next().await else { return };
        if z.give(term).await {
            z.copy(sum(w, product(u2, v2))).await;
        }
    });
    result
}

fn derivative(u: Series) -> Series {
    let (z, result) = series();
    go!({
        if z.wanted().await && u.next().await.is_some() {
            let Some(first) = u.next().await else { return };
            rest(z, first, mapped(u, |place, term| Rat::int(place + 2) * term)).await;
        }
    });
    result
}

fn integral(c: Rat, u: Series) -> Series {
    shifted(c, mapped(u, |place, term| Rat::new(1, place + 1) * term))
}

/// (1 + x)ᶜ.
fn binomial(c: Rat) -> Series {
    let (z, result) = series();
    go!({
        let (mut term, mut n) = (Rat::ONE, 1);
        let mut factor = c;
        while term != Rat::ZERO && z.put(term).await {
            term = term * factor * Rat::new(1, n);
            factor = factor + Rat::int(-1);
            n += 1;
        }
        z.wanted().await;
    });
    result
}

/// 1/u: z = z₀ − z₀·u'·x·z, where z₀ = 1/u₀.
fn reciprocal(u: Series) -> Series {
    let (z, result) = series();
    go!({
        if !z.wanted().await {
            return;
        }
        let Some(u0) = u.next().await else { return };
        let z0 = u0.inverse();
        if z.give(z0).await {
            let tail = feedback(|tail| product(scaled(-z0, u), shifted(z0, tail)));
            z.copy(tail).await;
        }
    });
    result
}

/// eᵘ for u₀ = 0: z = 1 + ∫ z·u'.
fn exponential(u: Series) -> Series {
    feedback(|z| integral(Rat::ONE, product(z, derivative(u))))
}

/// u(v) for v₀ = 0.
fn composed(u: Series, v: Series) -> Series {
    let (z, result) = series();
    go!({
        let (v1, v2) = two_of(v);
        if !z.wanted().await {
            return;
        }
        let Some(u0) = u.next().await else { return };
        if z.give(u0).await && v1.next().await.is_some() {
            z.copy(product(v1, composed(u, v2))).await;
        }
    });
    result
}

/// u(c·xⁿ).
fn of_monomial(u: Series, c: Rat, n: usize) -> Series {
    let (z, result) = series();
    go!({
        let mut power = Rat::ONE;
        while z.wanted().await
            && let Some(term) = u.next().await
            && z.give(term * power).await
        {
            power = power * c;
            for _ in 1..n {
                if !z.put(Rat::ZERO).await {
                    return;
                }
            }
        }
    });
    result
}

fn ones() -> Series {
    repeated(Rat::ONE)
}

async fn check(what: &str, u: Series, expected: &[(i128, i128)]) {
    let expected: Vec<Rat> =
        expected.iter().map(|(above, below)| Rat::new(*above, *below)).collect();
    assert_eq!(u.take(expected.len()).await, expected, "{what}");
}

fn ints(terms: &[i128]) -> Vec<(i128, i128)> {
    terms.iter().map(|n| (*n, 1)).collect()
}

/// The checks of `powser1.go`: sums, derivatives, products, exponentials, arcs and tangents have
/// the right coefficients. Series that do not refer to themselves end when no consumer is left.
#[gmp::test(max_procs = 2)]
async fn power_series_have_the_right_coefficients() {
    check("ones", ones(), &ints(&[1; 10])).await;
    check("sum", sum(ones(), repeated(Rat::int(2))), &ints(&[3; 10])).await;
    check("scaled", scaled(Rat::int(-1), ones()), &ints(&[-1; 10])).await;
    check("difference", difference(ones(), repeated(Rat::int(2))), &ints(&[-1; 10])).await;
    let squares = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    check("product", product(ones(), ones()), &ints(&squares)).await;
    check("derivative", derivative(ones()), &ints(&squares)).await;
    let harmonic: Vec<_> = [(0, 1)].into_iter().chain((1..10).map(|n| (1, n))).collect();
    check("integral", integral(Rat::ZERO, ones()), &harmonic).await;
    check("shifted", shifted(Rat::int(5), ones()), &ints(&[5, 1, 1, 1])).await;
    check("monomial times", times_x(3, ones()), &ints(&[0, 0, 0, 1, 1, 1])).await;
    let cube = binomial(Rat::int(3));
    assert_eq!(cube.take(9).await, [1, 3, 3, 1].map(Rat::int), "it ends");
    drop(cube);
    let root = [(1, 1), (1, 2), (-1, 8), (1, 16), (-5, 128), (7, 256), (-21, 1024)];
    check("root", binomial(Rat::new(1, 2)), &root).await;
    let roots = || binomial(Rat::new(1, 2));
    check("root squared", product(roots(), roots()), &ints(&[1, 1, 0, 0, 0, 0, 0, 0])).await;
    let polynomials = product(
        polynomial(vec![Rat::int(1), Rat::int(2)]),
        polynomial(vec![Rat::int(3), Rat::int(4)]),
    );
    check("polynomials", polynomials, &ints(&[3, 10, 8])).await;
    let even = of_monomial(ones(), Rat::int(-1), 2);
    check("in a monomial", even, &ints(&[1, 0, -1, 0, 1, 0, -1, 0])).await;
    let arc = integral(Rat::ZERO, of_monomial(ones(), Rat::int(-1), 2));
    let arc_terms =
        [(0, 1), (1, 1), (0, 1), (-1, 3), (0, 1), (1, 5), (0, 1), (-1, 7), (0, 1), (1, 9)];
    check("arc tangent", arc, &arc_terms).await;
    // 1/(1 − (x + x²)): the Fibonacci numbers.
    let steps = polynomial(vec![Rat::ZERO, Rat::ONE, Rat::ONE]);
    let ways = composed(ones(), steps);
    check("composed", ways, &ints(&[1, 1, 2, 3, 5, 8, 13, 21])).await;
    while gmp::num_goroutine() > 1 {
        gmp::yield_now().await;
    }
}

/// Self-referential series: reciprocals, exponentials, the tangent. They keep each other alive, so
/// their goroutines end with the runtime.
#[gmp::test(max_procs = 2)]
async fn series_that_refer_to_themselves_have_the_right_coefficients() {
    let reciprocals = reciprocal(ones());
    check("reciprocal", reciprocals, &ints(&[1, -1, 0, 0, 0, 0, 0, 0])).await;
    let exponential_of_x = exponential(polynomial(vec![Rat::ZERO, Rat::ONE]));
    let factorials = [1, 1, 2, 6, 24, 120, 720, 5040].map(|n| (1, n));
    check("exponential", exponential_of_x, &factorials).await;
    let terms = [
        (1, 1),
        (1, 1),
        (3, 2),
        (13, 6),
        (73, 24),
        (167, 40),
        (4051, 720),
        (37633, 5040),
        (43817, 4480),
        (4_596_553, 362_880),
    ];
    check("exponential of ones", exponential(shifted(Rat::ZERO, ones())), &terms).await;
    // t' = 1 + t².
    let tangent = feedback(|t| {
        let (t1, t2) = two_of(t);
        integral(Rat::ZERO, sum(polynomial(vec![Rat::ONE]), product(t1, t2)))
    });
    let terms =
        [(0, 1), (1, 1), (0, 1), (1, 3), (0, 1), (2, 15), (0, 1), (17, 315), (0, 1), (62, 2835)];
    check("tangent", tangent, &terms).await;
    assert!(gmp::num_goroutine() > 1, "the loops are still there");
}
