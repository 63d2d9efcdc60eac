//! Hands calls to the program whose tools they are, and waits for the results, which come with the program's next request.

use std::time::Duration;

use super::calls::{CallRunner, ProposedCall, Stop};
use super::recorder::Recorder;
use crate::clock;
use crate::domain::{HandOff, ToolCall};

/// How long a program has to return the results of its calls, also across restarts of the server.
const PATIENCE: Duration = Duration::from_secs(3600);
const UNANSWERED: &str = "the program did not return the results of its tools within an hour";

impl CallRunner<'_> {
    /// Hands the calls off and waits until each has a result.
    pub(super) async fn hand_off(&self, calls: &[ProposedCall], recorder: &mut Recorder) -> Result<(), Stop> {
        let mut left = calls.iter().filter(|call| !call.is_away).count() as u32;
        for call in calls.iter().filter(|call| !call.is_away) {
            left -= 1;
            recorder.hand_off(call.index, &call.request, HandOff { more: left }).await?;
        }
        let away = |recorder: &Recorder| -> Option<f64> {
            let all = recorder.session().calls_of(recorder.work_id()).filter(|call| call.is_away());
            all.map(|call: &ToolCall| call.started_at.unwrap_or_default()).reduce(f64::min)
        };
        let Some(since) = away(recorder) else { return Ok(()) };
        let _pause = self.deadline.pause();
        let patience = tokio::time::sleep(time_left(since, clock::now()));
        tokio::pin!(patience);
        while away(recorder).is_some() {
            tokio::select! {
                biased;
                message = recorder.told() => if message.is_none() {
                    // The owner is gone; the stop signal says why.
                    self.stop_signal.cancel.cancelled().await;
                },
                () = self.stop_signal.cancel.cancelled() => {}
                () = &mut patience => return Err(Stop::Limit(UNANSWERED.to_owned())),
            }
            if self.stop_signal.is_suspended() {
                return Err(Stop::Suspended);
            }
            if self.stop_signal.cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
        }
        Ok(())
    }
}

/// Returns how long a program still has whose calls were handed to it at `since`. Both are Unix times in seconds.
fn time_left(since: f64, now: f64) -> Duration {
    // A clock that was set back gives no more than the whole time.
    let waited = Duration::try_from_secs_f64(now - since).unwrap_or_default();
    PATIENCE.saturating_sub(waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_left_in_all_also_over_restarts() {
        assert_eq!(time_left(1_000.0, 1_000.0), PATIENCE);
        assert_eq!(time_left(1_000.0, 2_800.0), Duration::from_secs(1_800));
        assert_eq!(time_left(1_000.0, 9_000.0), Duration::ZERO);
        assert_eq!(time_left(1_000.0, 500.0), PATIENCE);
        assert_eq!(time_left(f64::NAN, 1.0), PATIENCE);
    }
}
