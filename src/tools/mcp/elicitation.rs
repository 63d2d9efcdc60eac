//! What a server asks a person during a call: as the result of the call, which is then repeated, or as a request of its own
//! while the call goes on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::masking::hide;
use super::message::RpcError;
use crate::domain::elicitation::{LaterRequest, MAX_REQUESTS, MAX_ROUNDS, MAX_STATE};
use crate::domain::visible::visible;
use crate::domain::{Elicitation, ElicitationAction, Resumption};
use crate::tools::{Elicited, LiveQuestions};

/// Maximum bytes of the server's name of a request.
const MAX_KEY: usize = 200;
pub const CREATE: &str = "elicitation/create";
/// The code of the error with which a server of the older era wants an address to be opened first.
pub const ADDRESS_REQUIRED: i64 = -32042;

/// What this client declares of it.
pub fn capability() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}})
}

/// What follows from the result of a call.
pub enum Next {
    /// It is the result.
    Ended,
    Ask(Box<Elicitation>),
    /// The call is made again with this, without a question.
    Again(Resumption),
}

/// Returns whether a result asks for input.
pub fn is_required(result: &Value) -> bool {
    result["resultType"] == "input_required"
}

/// Reads what a result asks for. `before` is what the call was repeated with.
///
/// # Errors
/// Returns why a person is not asked: a part of a sentence about the server.
pub fn next(server: &str, result: &Value, before: &Resumption) -> Result<Next, String> {
    if !is_required(result) {
        return Ok(Next::Ended);
    }
    let resumption = Resumption {
        entry: before.entry.clone(),
        state: state(&result["requestState"])?,
        task: before.task.clone(),
        round: before.round + 1,
        ..Resumption::default()
    };
    if resumption.round > MAX_ROUNDS {
        return Err(format!("it has asked more than {MAX_ROUNDS} times during one call"));
    }
    let requests = match &result["inputRequests"] {
        Value::Null => return Ok(Next::Again(resumption)),
        Value::Object(requests) if requests.is_empty() => return Ok(Next::Again(resumption)),
        Value::Object(requests) if requests.len() <= MAX_REQUESTS => requests,
        Value::Object(_) => return Err(format!("it asks for more than {MAX_REQUESTS} things at once")),
        _ => return Err("the names of its requests cannot be kept".to_owned()),
    };
    let mut later = Vec::new();
    for (key, request) in requests {
        let method = request["method"].as_str().unwrap_or_default();
        if method != CREATE {
            return Err(format!("it asks for {}, which it does not get here", visible(method)));
        }
        // All of them are read before the first is asked about.
        Elicitation::read(server, &request["params"], None)?;
        // Without a name it would get no response.
        if key.is_empty() {
            return Err("its request has no name".to_owned());
        }
        if key.len() > MAX_KEY || request["params"].to_string().len() > MAX_STATE {
            return Err("its request is too long to be kept".to_owned());
        }
        later.push(LaterRequest { key: key.clone(), params: request["params"].clone() });
    }
    ask_next(server, Resumption { later, ..resumption })
}

/// Reads the error of a server of the older era that wants addresses to be opened before the call is made again.
///
/// # Errors
/// Returns why a person is not asked: a part of a sentence about the server.
pub fn addresses(server: &str, error: &RpcError, before: &Resumption) -> Result<Next, String> {
    if before.round > 0 {
        return Err("it had asked for that before, and the user had done it".to_owned());
    }
    let later = match error.data["elicitations"].as_array().map(Vec::as_slice) {
        Some(asked @ [_, ..]) if asked.len() <= MAX_REQUESTS => asked,
        _ => return Err(format!("it names no address, or more than {MAX_REQUESTS}")),
    };
    for params in later {
        if params["mode"] != "url" {
            return Err("it asks for something else than to open an address".to_owned());
        }
        // All of them are read before the first is asked about.
        Elicitation::read(server, params, None)?;
        if params.to_string().len() > MAX_STATE {
            return Err("its request is too long to be kept".to_owned());
        }
    }
    let later = later.iter().map(|params| LaterRequest { key: String::new(), params: params.clone() }).collect();
    ask_next(server, Resumption { entry: before.entry.clone(), round: 1, later, ..Resumption::default() })
}

fn state(value: &Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(state) if state.len() <= MAX_STATE => Ok(Some(state.clone())),
        _ => Err("the state of its request cannot be kept: it is no text, or over 64 KiB".to_owned()),
    }
}

fn ask_next(server: &str, mut resumption: Resumption) -> Result<Next, String> {
    if resumption.later.is_empty() {
        return Ok(Next::Again(resumption));
    }
    let LaterRequest { key, params } = resumption.later.remove(0);
    // Without a name, it wants no response but the call once more.
    resumption.key = Some(key).filter(|key| !key.is_empty());
    Ok(Next::Ask(Box::new(Elicitation::read(server, &params, Some(resumption))?)))
}

/// Returns what follows from a person's answer: the next question, or the call.
///
/// # Errors
/// Returns why the call is not repeated.
pub fn answered(Elicited { asked, answer }: &Elicited, entry: &str) -> Result<Next, String> {
    let mut resumption = asked.resumption.as_deref().cloned().unwrap_or_default();
    if resumption.entry != entry {
        return Err("its entry was changed after it had asked, so it does not get the answer".to_owned());
    }
    match resumption.key.take() {
        Some(key) => drop(resumption.given.insert(key, answer.response(&asked.wanted))),
        None if answer.action == ElicitationAction::Accept => {}
        None => return Err("the user did not open its address".to_owned()),
    }
    ask_next(&asked.server, resumption)
}

/// Returns the parameters of a call.
pub fn params(tool: &str, arguments: &Value, resumption: &Resumption) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    if !resumption.given.is_empty() {
        params["inputResponses"] = Value::Object(resumption.given.clone());
    }
    if let Some(state) = &resumption.state {
        params["requestState"] = state.clone().into();
    }
    params
}

/// Passes on what a server asks while a call goes on.
pub struct Elicitor<'a> {
    pub server: &'a str,
    pub questions: &'a LiveQuestions,
    /// Hides values of variables in what the server says.
    pub hidden: Box<dyn Fn(&str) -> String + Send + Sync + 'a>,
    asked: AtomicU32,
    refused: Mutex<Vec<String>>,
}

impl<'a> Elicitor<'a> {
    pub fn new(
        server: &'a str,
        questions: &'a LiveQuestions,
        hidden: impl Fn(&str) -> String + Send + Sync + 'a,
    ) -> Self {
        let (asked, refused) = (AtomicU32::new(0), Mutex::default());
        Self { server, questions, hidden: Box::new(hidden), asked, refused }
    }

    /// Asks a person, and returns what the server gets. What cannot be asked is declined.
    pub async fn response(&self, mut params: Value) -> Value {
        hide(&mut params, &self.hidden);
        let read = match self.asked.fetch_add(1, Ordering::Relaxed) {
            0..MAX_ROUNDS => Elicitation::read(self.server, &params, None),
            _ => Err(format!("it has asked more than {MAX_ROUNDS} times during one call")),
        };
        match read {
            Ok(asked) => {
                let wanted = asked.wanted.clone();
                match self.questions.ask(asked).await {
                    Some(answer) => answer.response(&wanted),
                    None => json!({"action": ElicitationAction::Cancel}),
                }
            }
            Err(why) => {
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                if !refused.contains(&why) {
                    refused.push(why);
                }
                json!({"action": ElicitationAction::Decline})
            }
        }
    }

    /// Returns why requests were declined without a question.
    pub fn refused(&self) -> Vec<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns what the model and the person read about a request that nobody is asked about.
pub fn refusal(why: &str) -> String {
    format!("the server asks the user for input, but {why}. It was declined; tell the user")
}

/// Returns what the model reads about a request of a task that nobody is asked about.
pub fn task_refusal(why: &str) -> String {
    format!("the server asks the user for input for its task, but {why}. The task was given up; tell the user")
}

/// Returns the resumption of a call that is made for the first time.
pub fn first(entry: &str) -> Resumption {
    Resumption { entry: entry.to_owned(), given: Map::new(), ..Resumption::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ElicitationAnswer;

    fn asks(key: &str) -> Value {
        let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
        json!({key: {"method": CREATE, "params": {"message": key, "requestedSchema": schema}}})
    }

    fn required(requests: Value, state: Value) -> Value {
        json!({"resultType": "input_required", "inputRequests": requests, "requestState": state})
    }

    fn asked(next: Result<Next, String>) -> Elicitation {
        match next {
            Ok(Next::Ask(asked)) => *asked,
            Ok(Next::Ended | Next::Again(_)) => panic!("nothing is asked"),
            Err(why) => panic!("{why}"),
        }
    }

    #[test]
    fn answers_to_all_requests_are_sent_together() {
        let mut requests = asks("a");
        requests["b"] = asks("b")["b"].take();
        let first_one = asked(next("pets", &required(requests, json!("opaque")), &first("00")));
        let mut answer = ElicitationAnswer::of(ElicitationAction::Accept);
        answer.content.insert("x".to_owned(), json!("tea"));
        let second = asked(answered(&Elicited { asked: first_one, answer }, "00"));
        assert_eq!(second.message, "b");
        let declined = ElicitationAnswer::of(ElicitationAction::Decline);
        let Ok(Next::Again(again)) = answered(&Elicited { asked: second.clone(), answer: declined.clone() }, "00")
        else {
            panic!("the call is repeated")
        };
        assert_eq!(
            params("feed", &json!({"n": 1}), &again),
            json!({"name": "feed", "arguments": {"n": 1}, "requestState": "opaque", "inputResponses":
                {"a": {"action": "accept", "content": {"x": "tea"}}, "b": {"action": "decline"}}})
        );
        assert!(answered(&Elicited { asked: second, answer: declined }, "11").is_err(), "another server gets nothing");
    }

    fn wants(elicitations: Value) -> RpcError {
        RpcError { code: ADDRESS_REQUIRED, message: String::new(), data: json!({"elicitations": elicitations}) }
    }

    fn opens(url: &str) -> Value {
        json!({"mode": "url", "elicitationId": "7", "message": "Sign in", "url": url})
    }

    #[test]
    fn call_is_repeated_once_after_all_addresses_are_opened() {
        let error = wants(json!([opens("https://a.example/"), opens("https://b.example/")]));
        let one = asked(addresses("pets", &error, &first("00")));
        let answer = |asked: Elicitation, action| Elicited { asked, answer: ElicitationAnswer::of(action) };
        let two = asked(answered(&answer(one.clone(), ElicitationAction::Accept), "00"));
        assert!(matches!(&two.wanted, crate::domain::Wanted::Url { host, .. } if host == "b.example"));
        let Ok(Next::Again(again)) = answered(&answer(two, ElicitationAction::Accept), "00") else {
            panic!("the call is repeated")
        };
        assert_eq!(params("feed", &json!({}), &again), json!({"name": "feed", "arguments": {}}));
        assert!(addresses("pets", &error, &again).is_err(), "only once");
        for action in [ElicitationAction::Decline, ElicitationAction::Cancel] {
            assert!(answered(&answer(one.clone(), action), "00").is_err());
        }
        let odd = [
            json!(null),
            json!([]),
            json!([1]),
            json!(vec![opens("https://a.example/"); 5]),
            json!([opens("javascript:alert(1)")]),
            json!([{"mode": "form", "message": "x", "requestedSchema": {}}]),
        ];
        for odd in odd {
            assert!(addresses("pets", &wants(odd.clone()), &first("00")).is_err(), "{odd}");
        }
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let many: Map<String, Value> =
            (0..50).flat_map(|at| asks(&format!("k{at}")).as_object().unwrap().clone()).collect();
        for (result, why) in [
            (required(Value::Object(many), json!(null)), "more than 4"),
            (required(json!({"a": {"method": "sampling/createMessage", "params": {}}}), json!(null)), "sampling"),
            (required(json!([1]), json!(null)), "names"),
            (required(asks(""), json!(null)), "no name"),
            (required(asks("a"), json!("x".repeat(70_000))), "64 KiB"),
            (required(asks("a"), json!({"x": 1})), "64 KiB"),
        ] {
            assert!(next("pets", &result, &first("")).err().unwrap().contains(why), "{why}");
        }
        let late = Resumption { round: MAX_ROUNDS, ..first("") };
        assert!(next("pets", &required(asks("a"), json!(null)), &late).is_err());
        assert!(matches!(next("pets", &json!({"content": []}), &first("")), Ok(Next::Ended)));
        assert!(matches!(next("pets", &required(json!(null), json!("x")), &first("")), Ok(Next::Again(_))));
    }
}
