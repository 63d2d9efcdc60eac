//! `create_todolist`, `done_todo`: the list of tasks that the model keeps in a conversation. A person sees it above the
//! composer. Its state is what the results of the calls say, so it survives restarts, and an undone branch takes it back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{self, FailedDetails, Failure, Verb};
use super::spec;
use crate::clock;
use crate::domain::todo::{CREATE_TODO_LIST, DONE_TODO};
use crate::domain::{Effect, Language, SessionId, Shown, TodoItem, TodoList, ToolAnswer, ToolSpec};
use crate::tools::{EndRun, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, read};

/// Maximum number of items of a list, and characters of a title.
const MAX_ITEMS: usize = 50;
const MAX_TITLE: usize = 200;

/// The lists of the calls under way: a call that was prepared together with the one that makes the list finds it here.
type Lists = Arc<Mutex<HashMap<SessionId, Option<TodoList>>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Create,
    Done,
}

pub struct TodoTool {
    kind: Kind,
    lists: Lists,
    spec: ToolSpec,
}

impl TodoTool {
    /// Creates both tools, which share their lists.
    pub fn both() -> [Self; 2] {
        let lists = Lists::default();
        let strings = || json!({"type": "array", "items": {"type": "string"}});
        let create = "Begin a list of tasks for longer work. The user sees it. It replaces an earlier list.";
        let create = spec(
            CREATE_TODO_LIST,
            create,
            (json!({"titles": strings(), "name": {"type": "string"}}), &["titles"]),
            Effect::Read,
        );
        let done = "Mark tasks of the list as completed, by their ids.";
        let done = spec(DONE_TODO, done, (json!({"item_ids": strings()}), &["item_ids"]), Effect::Read);
        [Self { kind: Kind::Create, lists: lists.clone(), spec: create }, Self { kind: Kind::Done, lists, spec: done }]
    }
}

#[derive(Deserialize)]
struct NewList {
    titles: Vec<String>,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
struct DoneItems {
    item_ids: Vec<String>,
}

enum Request {
    Create(NewList),
    Done(DoneItems),
}

struct TodoCall {
    request: Request,
    session: SessionId,
    lists: Lists,
    language: Language,
}

impl Tool for TodoTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let request = match self.kind {
            Kind::Create => read(CREATE_TODO_LIST, arguments).map(Request::Create),
            Kind::Done => read(DONE_TODO, arguments).map(Request::Done),
        };
        let prepared = request.map(|request| {
            let (session, lists) = (context.session.clone(), self.lists.clone());
            locked(&lists).insert(session.clone(), context.conversation.todo_list());
            let language = context.conversation.language();
            Box::new(TodoCall { request, session, lists, language }) as Box<dyn PreparedCall>
        });
        Box::pin(std::future::ready(prepared))
    }

    fn session_closed(&self, session: &SessionId) {
        locked(&self.lists).remove(session);
    }
}

impl PreparedCall for TodoCall {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        match &self.request {
            Request::Create(list) => line(&list.titles.join("\n")),
            Request::Done(done) => line(&done.item_ids.join(" ")),
        }
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let mut lists = locked(&self.lists);
        let list = lists.entry(self.session.clone()).or_default();
        let answer = match &self.request {
            Request::Create(new) => create(new, list, self.language),
            Request::Done(DoneItems { item_ids }) => done(item_ids, list.as_mut(), self.language),
        };
        drop(lists);
        Box::pin(std::future::ready(Ok(answer)))
    }
}

fn locked(lists: &Lists) -> std::sync::MutexGuard<'_, HashMap<SessionId, Option<TodoList>>> {
    lists.lock().unwrap_or_else(PoisonError::into_inner)
}

fn create(NewList { titles, name }: &NewList, list: &mut Option<TodoList>, language: Language) -> ToolAnswer {
    let titles: Vec<&str> = titles.iter().map(|title| title.trim()).filter(|title| !title.is_empty()).collect();
    if titles.is_empty() || titles.len() > MAX_ITEMS {
        return ToolAnswer::failed(format!(
            "a list has 1 to {MAX_ITEMS} titles, not {}; the list is unchanged.",
            titles.len()
        ));
    }
    if let Some(long) = titles.iter().find(|title| title.chars().count() > MAX_TITLE) {
        let begins: String = long.chars().take(40).collect();
        return ToolAnswer::failed(format!(
            "\"{begins}…\" is longer than {MAX_TITLE} characters; the list is unchanged."
        ));
    }
    let now = clock::local_time();
    let default_name = match language {
        Language::Chinese => "任务清单",
        Language::English => "Tasks",
    };
    let name = name.as_deref().map(str::trim).filter(|name| !name.is_empty()).unwrap_or(default_name).to_owned();
    let id = format!("TL_{}", clock::new_id());
    let items: Vec<TodoItem> = titles
        .iter()
        .zip(1..)
        .map(|(title, n)| TodoItem { id: format!("TD_{n:03}"), title: (*title).to_owned(), completed: None })
        .collect();
    let (made, added) = (
        Verb { word: "create", past: "created", label: "创建结果" },
        Verb { word: "add", past: "added", label: "添加结果" },
    );
    let rows = items.iter().map(|item| {
        json!({"item_id": item.id, "title": item.title, "status": "pending", "result": added.result(None, language),
            "created_time": now})
    });
    let data = json!({
        "todolist_info": {
            "todolist_name": name, "todolist_id": id, "creation_time": now, "result": made.result(None, language),
            "total_items": items.len(), "completed_items": 0, "pending_items": items.len(),
        },
        "todo_items": rows.collect::<Vec<_>>(),
        "summary": {"todolist_created": true, "items_added": items.len(), "items_failed": 0, "completion_rate": "0%"},
    });
    let text: Vec<String> = items.iter().map(|item| format!("{} {}", item.id, item.title)).collect();
    let answer = ToolAnswer::done(answer::message(items.len(), 0, language), text.join("\n")).with_data(data);
    let answer = items.iter().fold(answer, |answer, item| answer.with_code(&item.title));
    *list = Some(TodoList { id, name, items });
    answer
}

fn done(ids: &[String], list: Option<&mut TodoList>, language: Language) -> ToolAnswer {
    let Some(list) = list else {
        return ToolAnswer::failed(format!("there is no list yet; begin one with {CREATE_TODO_LIST}."));
    };
    if ids.is_empty() {
        return ToolAnswer::failed("item_ids is empty; nothing was marked.");
    }
    let (total, before) = (list.items.len(), list.completed());
    let now = clock::local_time();
    let marked = Verb { word: "mark", past: "marked", label: "标记结果" };
    let (mut rows, mut details, mut newly, mut lines) = (Vec::new(), FailedDetails::default(), 0, Vec::new());
    let mut codes = Vec::new();
    for id in ids {
        let Some(item) = list.items.iter_mut().find(|item| item.id == *id) else {
            let missing = Failure::not_found();
            rows.push(json!({"item_id": id, "result": marked.result(Some(&missing), language), "code": missing.code}));
            details.add(json!({"item_id": id}), &missing, language);
            lines.push(format!("{id}: there is no such item"));
            continue;
        };
        let known = item.completed.clone();
        newly += usize::from(known.is_none());
        let note = match (language, &known) {
            (Language::Chinese, None) => "【已成功标记为完成】",
            (Language::Chinese, Some(_)) => "【项目已是完成状态】",
            (Language::English, None) => "",
            (Language::English, Some(_)) => " [completed already]",
        };
        let at = item.completed.get_or_insert_with(|| now.clone()).clone();
        rows.push(json!({
            "title": item.title, "item_id": id, "result": format!("{}{note}", marked.result(None, language)),
            "previous_status": if known.is_some() { "completed" } else { "pending" }, "current_status": "completed",
            "completion_time": at,
        }));
        codes.push(item.title.clone());
        lines.push(format!("{id}: completed"));
    }
    let (after, failed) = (list.completed(), details.len());
    let operated = Verb { word: "execute", past: "executed", label: "操作结果" };
    let data = json!({
        "todolist_info": {
            "todolist_name": list.name, "todolist_id": list.id, "result": operated.result(None, language),
            "total_items": total, "completed_before": before, "completed_after": after, "pending_after": total - after,
            "completion_rate": rate(after, total),
        },
        "operation_results": rows,
        "summary": {
            "total_operations": ids.len(), "successful_operations": ids.len() - failed, "failed_operations": failed,
            "newly_completed": newly, "already_completed": ids.len() - failed - newly,
            "failed_details": details.into_value(),
        },
    });
    let open: Vec<String> =
        list.items.iter().filter(|item| item.completed.is_none()).map(|item| item.id.clone()).collect();
    lines.push(if open.is_empty() { "all are completed".to_owned() } else { format!("open: {}", open.join(", ")) });
    let answer = ToolAnswer::done(answer::message(ids.len(), failed, language), lines.join("\n")).with_data(data);
    ToolAnswer { ok: failed == 0, operation_code: codes, ..answer }
}

/// Returns a share as the document writes it: `66.7%`.
fn rate(part: usize, total: usize) -> String {
    let percent = 100.0 * part as f64 / total.max(1) as f64;
    let text = format!("{percent:.1}");
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::FutureExt;

    use super::*;
    use crate::domain::{Message, Role, Session, ToolCall};

    /// Runs a call in a session and adds it to the conversation, as a run does.
    fn call(tool: &TodoTool, session: &mut Session, arguments: Value) -> ToolAnswer {
        let id = SessionId::parse("s").unwrap();
        let prepared = tool.prepare(arguments, ToolContext::new(&id, "c", session)).now_or_never().unwrap();
        let run = match &prepared {
            Ok(call) => call.run(RunOptions::default()).now_or_never().unwrap().unwrap(),
            Err(answer) => (**answer).clone(),
        };
        let mut call = ToolCall::new("c", &tool.spec.name, &json!({}));
        call.result = Some(run.record());
        session.messages.push(Arc::new(Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") }));
        run
    }

    #[test]
    fn list_is_made_and_completed_with_the_fields_of_the_document() {
        let [create, done] = TodoTool::both();
        let mut session = Session::new("t", 1.0);
        session.messages.push(Arc::new(Message::new(Role::User, "请做三件事")));
        let made = call(&create, &mut session, json!({"titles": ["设计用户登录界面", " 编写测试 ", "发布", ""]}));
        assert!(made.ok && made.data["todolist_info"]["todolist_id"].as_str().unwrap().starts_with("TL_"));
        assert_eq!(made.data["todolist_info"]["result"], "创建结果：create success");
        assert_eq!(made.data["todo_items"][1]["title"], "编写测试");
        assert_eq!(made.data["todo_items"][2]["item_id"], "TD_003");
        let marked = call(&done, &mut session, json!({"item_ids": ["TD_001", "TD_003"]}));
        let info = &marked.data["todolist_info"];
        assert_eq!((info["completed_before"].clone(), info["completed_after"].clone()), (json!(0), json!(2)));
        assert_eq!(info["completion_rate"], "66.7%");
        let again = call(&done, &mut session, json!({"item_ids": ["TD_001", "TD_009"]}));
        assert_eq!(again.data["operation_results"][0]["result"], "标记结果：mark success【项目已是完成状态】");
        let first = |answer: &ToolAnswer| answer.data["operation_results"][0]["completion_time"].clone();
        assert_eq!(first(&again), first(&marked));
        assert_eq!(again.data["summary"]["failed_details"][0]["code"], "not_found");
        assert_eq!((again.record()["status"].clone(), again.text.lines().last()), (json!(1), Some("open: TD_002")));
        assert_eq!(session.todo_list().unwrap().completed(), 2);
    }

    #[test]
    fn item_of_a_list_made_in_the_same_exchange_is_found() {
        let [create, done] = TodoTool::both();
        let (id, session) = (SessionId::parse("s").unwrap(), Session::new("t", 1.0));
        let prepare = |tool: &TodoTool, arguments| {
            tool.prepare(arguments, ToolContext::new(&id, "c", &session)).now_or_never().unwrap().unwrap()
        };
        let (first, second) =
            (prepare(&create, json!({"titles": ["x"]})), prepare(&done, json!({"item_ids": ["TD_001"]})));
        let run = |call: &dyn PreparedCall| call.run(RunOptions::default()).now_or_never().unwrap().unwrap();
        assert!(run(first.as_ref()).ok && run(second.as_ref()).ok);
    }

    #[test]
    fn impossible_list_is_refused_with_the_reason() {
        let [create, done] = TodoTool::both();
        let mut session = Session::new("t", 1.0);
        let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
        for (tool, arguments, sign) in [
            (&create, json!({"titles": []}), "1 to 50"),
            (&create, json!({"titles": many}), "not 51"),
            (&create, json!({"titles": ["x".repeat(201)]}), "longer than 200"),
            (&done, json!({"item_ids": ["TD_001"]}), "no list yet"),
        ] {
            let answer = call(tool, &mut session, arguments);
            assert!(!answer.ok && answer.text.contains(sign), "{}", answer.text);
        }
    }
}
