//! Once, OnceCell and Lazy, whose closures panic, fail and are aborted.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::violation::{expected_panic, violation};
use gmp::sync::{Lazy, Once, OnceCell, SetError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// `f` of a `Once` runs once, also if it panics or is aborted.
pub(crate) async fn once(mut cx: Cx) {
    let shared = Arc::new((Once::new(), AtomicU64::new(0)));
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(5) {
        let shared = shared.clone();
        children.push(cx.spawn_anywhere(|mut inner| async move {
            let (once, runs) = &*shared;
            if inner.rand.once_in(3) {
                once.call_blocking(|| {
                    runs.fetch_add(1, Relaxed);
                });
                return did("Once::call_blocking", End::Ok);
            }
            let panics = inner.rand.once_in(6);
            once.call(|| async {
                runs.fetch_add(1, Relaxed);
                inner.pause().await;
                if panics {
                    expected_panic();
                }
            })
            .await;
            did("Once::call", End::Ok);
            if !once.is_done() {
                violation("a Once has returned and is not done");
            }
        }));
    }
    if cx.rand.once_in(3) {
        abort(cx.rand.pick(&children));
    }
    for child in children {
        join(child).await;
    }
    let runs = shared.1.load(Relaxed);
    if runs > 1 {
        violation(format!("a Once ran {runs} times"));
    }
}

/// A cell is set once, and all readers see the same value.
pub(crate) async fn once_cell(mut cx: Cx) {
    let cell = Arc::new(OnceCell::<Box<u64>>::new());
    let mut children = Vec::new();
    for n in 0..1 + cx.rand.below(6) {
        let (cell, mut inner) = (cell.clone(), cx.fork());
        children.push(cx.spawn(async move {
            let form = inner.rand.below(5);
            if let Some(value) = set(&cell, n, form, &mut inner).await
                && cell.get().is_none_or(|now| **now != value)
            {
                violation(format!("a cell of {value} has {:?}", cell.get()));
            }
        }));
    }
    if cx.rand.once_in(3) {
        abort(cx.rand.pick(&children));
    }
    for child in children {
        join(child).await;
    }
    let Some(mut cell) = Arc::into_inner(cell) else { violation("a cell is still shared") };
    let value = cell.get_mut().map(|value| **value);
    if cell.take().map(|value| *value) != value || cell.get().is_some() {
        violation("OnceCell::take leaves the value");
    }
    did("OnceCell::take, get_mut", End::Ok);
}

async fn set(cell: &OnceCell<Box<u64>>, n: u64, form: u64, cx: &mut Cx) -> Option<u64> {
    match form {
        0 => match cell.set(Box::new(n)) {
            Ok(()) => {
                did("OnceCell::set", End::Ok);
                Some(n)
            }
            Err(SetError::AlreadySet(value) | SetError::Initializing(value)) => {
                did("OnceCell::set", End::Not);
                if *value != n {
                    violation("OnceCell::set returns another value");
                }
                None
            }
            Err(_) => None,
        },
        1 => {
            let made = cell.get_or_try_init(|| async {
                cx.pause().await;
                if cx.rand.once_in(2) { Err(()) } else { Ok(Box::new(n)) }
            });
            let made = made.await.ok().map(|value| **value);
            did("OnceCell::get_or_try_init", if made.is_some() { End::Ok } else { End::Error });
            made
        }
        2 => {
            did("OnceCell::get_or_init_blocking", End::Ok);
            Some(**cell.get_or_init_blocking(|| Box::new(n)))
        }
        3 => match gmp::timeout(Duration::from_millis(2), cell.wait()).await {
            Ok(value) => {
                did("OnceCell::wait", End::Ok);
                Some(**value)
            }
            Err(_) => {
                did("OnceCell::wait", End::Timeout);
                None
            }
        },
        _ => {
            let made = cell.get_or_init(|| async {
                cx.pause().await;
                if cx.rand.once_in(4) {
                    expected_panic();
                }
                Box::new(n)
            });
            let value = **made.await;
            did("OnceCell::get_or_init", End::Ok);
            Some(value)
        }
    }
}

/// The future of a `Lazy` runs once. If it panics, every caller panics.
pub(crate) async fn lazy(mut cx: Cx) {
    let runs = Arc::new(AtomicU64::new(0));
    let (counted, panics, mut inner) = (runs.clone(), cx.rand.once_in(3), cx.fork());
    let lazy = Arc::new(Lazy::new(async move {
        counted.fetch_add(1, Relaxed);
        inner.pause().await;
        if panics {
            expected_panic();
        }
        42u64
    }));
    let mut children = Vec::new();
    for n in 0..1 + cx.rand.below(5) {
        let lazy = lazy.clone();
        children.push(cx.spawn(async move {
            let value = if n == 3 { *lazy.force_blocking() } else { *lazy.force().await };
            did("Lazy::force", End::Ok);
            value
        }));
    }
    if cx.rand.once_in(3) {
        abort(cx.rand.pick(&children));
    }
    let mut given = 0;
    for child in children {
        let value = join(child).await;
        given += u32::from(value.is_some());
        if value.is_some_and(|value| panics || value != 42) {
            violation(format!("a Lazy gave {value:?}, panics: {panics}"));
        }
    }
    let runs = runs.load(Relaxed);
    if runs > 1 || (runs == 0 && given > 0) {
        violation(format!("the future of a Lazy began {runs} times"));
    }
    // `get` panics as well if the future did.
    if !panics && lazy.get().is_some_and(|value| *value != 42) {
        violation("Lazy::get gave another value");
    }
    did("Lazy::get", End::Ok);
}
