//! The list of tasks that the model keeps in a conversation: a projection of the results of its calls.

use serde::Serialize;
use serde_json::Value;

use super::message::ToolCall;
use super::session::Session;

/// The tool that begins a list, and the tool that completes items of it.
pub const CREATE_TODO_LIST: &str = "create_todolist";
pub const DONE_TODO: &str = "done_todo";

/// The list of a session. A new one replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct TodoList {
    pub id: String,
    pub name: String,
    pub items: Vec<TodoItem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct TodoItem {
    /// `TD_001` for the first item of a list.
    pub id: String,
    pub title: String,
    /// When it was completed, as the record of the call says it; `null` while it is pending.
    pub completed: Option<String>,
}

impl TodoList {
    /// Returns the number of completed items.
    pub fn completed(&self) -> usize {
        self.items.iter().filter(|item| item.completed.is_some()).count()
    }

    fn created(call: &ToolCall) -> Option<Self> {
        let data = call.result.as_ref()?.get("data")?;
        let text = |value: &Value, field: &str| Some(value.get(field)?.as_str()?.to_owned());
        let info = data.get("todolist_info")?;
        let items = data.get("todo_items")?.as_array()?.iter();
        let items = items.filter_map(|item| {
            Some(TodoItem { id: text(item, "item_id")?, title: text(item, "title")?, completed: None })
        });
        Some(Self { id: text(info, "todolist_id")?, name: text(info, "todolist_name")?, items: items.collect() })
    }

    fn complete(&mut self, call: &ToolCall) {
        let results = call.result.as_ref().and_then(|result| result.get("data")?.get("operation_results")?.as_array());
        for result in results.into_iter().flatten() {
            let text = |field: &str| result.get(field).and_then(Value::as_str);
            let (Some(id), Some(at)) = (text("item_id"), text("completion_time")) else { continue };
            if let Some(item) = self.items.iter_mut().find(|item| item.id == id) {
                item.completed.get_or_insert_with(|| at.to_owned());
            }
        }
    }
}

impl Session {
    /// Returns the list that its calls have left, without those of withdrawn works; `None` if they made none.
    pub fn todo_list(&self) -> Option<TodoList> {
        let in_effect = self.messages.iter().filter(|message| self.is_in_effect(message));
        let calls: Vec<&ToolCall> = in_effect.flat_map(|message| &message.tool_calls).collect();
        let (begins, mut list) = calls.iter().enumerate().rev().find_map(|(at, call)| {
            let list = (call.tool == CREATE_TODO_LIST).then(|| TodoList::created(call)).flatten()?;
            Some((at, list))
        })?;
        calls[begins..].iter().filter(|call| call.tool == DONE_TODO).for_each(|call| list.complete(call));
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::domain::{Event, Message, Role, WorkId};

    fn session(calls: &[(&str, Value)]) -> Session {
        let mut session = Session::new("t", 1.0);
        for (tool, data) in calls {
            let mut call = ToolCall::new("c", tool, &json!({}));
            call.result = Some(json!({"status": 0, "data": data}));
            let message = Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") };
            session.messages.push(Arc::new(message));
        }
        session
    }

    fn list(id: &str, titles: &[&str]) -> (&'static str, Value) {
        let items = titles.iter().zip(1..).map(|(title, n)| json!({"item_id": format!("TD_{n:03}"), "title": title}));
        let items: Vec<Value> = items.collect();
        (CREATE_TODO_LIST, json!({"todolist_info": {"todolist_id": id, "todolist_name": id}, "todo_items": items}))
    }

    fn done(id: &str) -> (&'static str, Value) {
        (DONE_TODO, json!({"operation_results": [{"item_id": id, "completion_time": "now"}, {"item_id": "TD_9"}]}))
    }

    #[test]
    fn newest_list_counts_with_what_was_done_after_it() {
        assert_eq!(session(&[done("TD_001")]).todo_list(), None);
        let made = [list("a", &["x", "y"]), done("TD_001"), list("b", &["z", "w"]), done("TD_002"), done("TD_007")];
        let kept = session(&made).todo_list().unwrap();
        assert_eq!((kept.id.as_str(), kept.completed()), ("b", 1));
        let items: Vec<_> = kept.items.iter().map(|item| (item.title.as_str(), item.completed.as_deref())).collect();
        assert_eq!(items, [("z", None), ("w", Some("now"))]);
        let mut withdrawn = session(&[list("a", &["x"]), list("b", &["y"])]);
        let last = Arc::make_mut(withdrawn.messages.last_mut().unwrap());
        last.work_id = Some(WorkId::new("w"));
        let event =
            Event::Withdrawn { work_id: WorkId::new("w"), withdrawn: true, calls: Vec::new(), kept: Vec::new() };
        withdrawn.works.push(Arc::new(serde_json::from_value(json!({"work_id": "w", "created_at": 1.0})).unwrap()));
        withdrawn.apply(&event, 2.0);
        assert_eq!(withdrawn.todo_list().unwrap().id, "a", "the list of a withdrawn work does not count");
        let failed = (CREATE_TODO_LIST, json!({}));
        assert_eq!(session(&[list("a", &["x"]), failed]).todo_list().unwrap().id, "a");
    }
}
