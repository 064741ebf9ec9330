//! Errors as `io::Error`, and channel errors as wider ones: kinds, texts and values.

use gmp::chan::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
use gmp::context::ContextError;
use gmp::sync::{ErrGroup, GroupError};
use std::error::Error;
use std::future::ready;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Returns the kind and the text.
fn shown(error: impl Into<io::Error>) -> (io::ErrorKind, String) {
    let error = error.into();
    (error.kind(), error.to_string())
}

#[test]
fn a_closed_channel_is_a_broken_pipe() {
    let text = "send on closed channel".to_owned();
    assert_eq!(shown(SendError(Rc::new(1))), (io::ErrorKind::BrokenPipe, text));
    let text = "receive on closed and empty channel".to_owned();
    assert_eq!(shown(RecvError), (io::ErrorKind::BrokenPipe, text));
}

#[test]
fn a_closed_channel_is_one_case_of_the_wider_errors() {
    assert_eq!(TrySendError::from(SendError(1)), TrySendError::Closed(1));
    assert_eq!(SendTimeoutError::from(SendError(1)), SendTimeoutError::Closed(1));
    assert_eq!(TryRecvError::from(RecvError), TryRecvError::Closed);
    assert_eq!(RecvTimeoutError::from(RecvError), RecvTimeoutError::Closed);
}

/// Code that repeats interrupted operations must not repeat a cancelled one.
#[test]
fn the_end_of_a_context_is_never_an_interruption() {
    let text = "context deadline exceeded".to_owned();
    assert_eq!(shown(ContextError::DeadlineExceeded), (io::ErrorKind::TimedOut, text));
    let text = "context canceled".to_owned();
    assert_eq!(shown(ContextError::Cancelled), (io::ErrorKind::Other, text));
}

#[gmp::test]
async fn the_io_error_of_a_member_becomes_that_of_the_group() {
    const ENOENT: i32 = 2;
    let group = ErrGroup::new();
    group.go(ready(Err(io::Error::from_raw_os_error(ENOENT)))).await;
    let shared = group.wait().await.unwrap_err();
    // The group still has the error.
    let error = io::Error::from(shared.clone());
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert_eq!(error.to_string(), shared.to_string());
    assert_eq!(error.raw_os_error(), None);
    drop((error, group));
    let error = io::Error::from(shared);
    assert_eq!(error.raw_os_error(), Some(ENOENT), "the error itself");
}

#[test]
fn a_panic_in_a_group_is_another_error() {
    let panic = GroupError::<io::Error>::Panic("no luck".into());
    let text = "a member of the group panicked: no luck".to_owned();
    assert_eq!(shown(panic), (io::ErrorKind::Other, text));
    let text = "a member of the group was cancelled".to_owned();
    assert_eq!(shown(GroupError::<io::Error>::Cancelled), (io::ErrorKind::Other, text));
}

/// No text comes twice in a chain of causes.
#[test]
fn the_causes_of_a_member_follow_its_text() {
    let inner = io::Error::other(io::Error::other("inner"));
    let error = io::Error::from(GroupError::Member(Arc::new(inner)));
    assert_eq!(error.to_string(), "inner");
    let boxed: Box<dyn Error + Send + Sync> = "boxed".into();
    let error = GroupError::Member(Arc::new(boxed));
    assert!(error.source().is_none());
}
