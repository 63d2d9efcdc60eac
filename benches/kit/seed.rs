//! Generated sessions of a given length, written as files of a home.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

/// Text of the generated messages, in turns; about 240 bytes a message, half of it Chinese.
const QUESTION: &str = "Could you look at the notes from last week's planning meeting and tell me which of the open points \
concern the budget? I think there were three, but I may have missed one that was only mentioned in passing near the end.";
const ANSWER: &str = "上周会议记录里与预算有关的未决事项有三项：第一，服务器的续费；第二，外包翻译的费用上限；第三，十一月的差旅。\
The travel item was mentioned only once, near the end, so it is easy to miss.";

/// Returns the JSON of a session with `length` messages; every tenth exchange has a tool call.
pub fn session(title: &str, length: usize) -> Value {
    titled(title, (0..length).map(message).collect())
}

/// Returns the JSON of a session with these messages.
pub fn titled(title: &str, messages: Vec<Value>) -> Value {
    json!({"title": title, "created_at": 1.7e9, "updated_at": 1.7e9, "messages": messages})
}

fn message(at: usize) -> Value {
    if at.is_multiple_of(2) {
        return json!({"role": "user", "content": format!("{at}. {QUESTION}"), "id": format!("m{at}"), "created_at": 1.7e9});
    }
    let mut answer = json!({"role": "assistant", "content": format!("{at}. {ANSWER}"), "created_at": 1.7e9});
    if at % 20 == 1 {
        let call = json!({"tool": "read_file", "input": "memory/MEMORY.md", "output": "# Memory\n\nNothing yet.\n",
            "id": format!("call_{at}"), "arguments": {"path": "memory/MEMORY.md"}, "status": "done"});
        answer["tool_calls"] = json!([call]);
    }
    answer
}

/// Writes `sessions/{id}.json`. The server must not be running yet.
pub fn write(home: &Path, id: &str, session: &Value) -> io::Result<()> {
    let folder = home.join("sessions");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("{id}.json")), format!("{session:#}\n"))
}
