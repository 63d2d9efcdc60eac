//! Few-shot examples for the router. They depend on the offered tools: an example that names a missing tool would
//! teach the model to choose it.

use crate::request::Tool;
use crate::router::NONE;

/// Questions that need no tool. They stand between the others, so that the last example is not always a tool.
const WITHOUT_TOOL: [&str; 10] = [
    "你好！",
    "Who are you and what can you do?",
    "为什么海水是咸的？",
    "Write a haiku about the moon",
    "谢谢，很有帮助",
    "Summarise this in one sentence: The meeting moved to Friday because the hall is being painted.",
    "把“早上好”翻译成法语",
    "写一个反转字符串的 JavaScript 函数",
    "你觉得我应该学钢琴吗？",
    "My name is Li Wei",
];

/// Parts of tool names, and a question for such a tool. Each entry is used for the first tool whose name contains
/// one of its parts and that has no example yet.
const WITH_TOOL: [(&[&str], &str); 22] = [
    (&["weather"], "后天深圳会下雨吗？"),
    (&["read_file", "file_read", "open_file"], "What does todo.txt say?"),
    (&["knowledge", "rag"], "查一下知识库里关于报销的规定"),
    (&["fetch", "browse", "open_url"], "https://example.org/news 这个网页讲了什么？"),
    (&["terminal", "bash", "shell", "run_command"], "Run git status"),
    (&["python", "code_exec", "execute_code"], "用 Python 算一下前 50 个质数的和"),
    (&["create_file", "write_file", "save_file"], "Create hello.py that prints hello"),
    (&["edit_file", "replace_in_file"], "把 config.yml 里的端口改成 9000"),
    (&["list_files", "list_dir"], "Which files are in the docs folder?"),
    (&["search_files", "grep", "find_in_files"], "哪些文件里出现了 TODO？"),
    (&["delete_file", "remove_file"], "Delete old.log"),
    (&["move_file", "rename_file"], "把 a.txt 改名为 b.txt"),
    (&["web_search", "search_web", "internet"], "Search the web for today's football results"),
    (&["calculator", "calculate"], "389 乘以 27 等于多少？"),
    (&["sql", "query_db", "database"], "How many rows are in the users table?"),
    (&["create_todo", "add_todo"], "列一个待办：买菜、洗车、交电费"),
    (&["done_todo", "finish_todo", "complete_todo"], "Mark the second to-do as done"),
    (&["remember", "memory_add", "save_memory", "update_memory"], "请记住我对花生过敏"),
    (&["time", "date", "clock"], "What time is it now?"),
    (&["json"], "检查这段 JSON 是否合法：{\"a\": 1,}"),
    (&["count", "text_"], "How many words are in this text: one two three"),
    (&["mail"], "给张伟发封邮件说我明天请假"),
];

/// Maximum number of examples with a tool. More do not improve the choice and cost evaluation time.
const MAX_WITH_TOOL: usize = 12;

/// Returns pairs of question and answer for these tools.
pub fn for_tools(tools: &[Tool]) -> Vec<(&'static str, &str)> {
    let mut with: Vec<(&'static str, &str)> = Vec::new();
    for (parts, question) in &WITH_TOOL {
        let named = |t: &&Tool| parts.iter().any(|p| t.name.to_lowercase().contains(p));
        let unused = |t: &&Tool| !with.iter().any(|(_, name)| *name == t.name);
        if let Some(tool) = tools.iter().filter(named).find(unused) {
            with.push((question, &tool.name));
        }
    }
    with.truncate(MAX_WITH_TOOL);
    let mut with = with.into_iter();
    let mut examples = Vec::new();
    for question in WITHOUT_TOOL {
        examples.push((question, NONE));
        examples.extend(with.next());
    }
    examples.extend(with);
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Tool {
        Tool { name: name.into(), description: String::new(), parameters: serde_json::Value::Null }
    }

    #[test]
    fn examples_use_only_offered_tools() {
        let tools = [tool("read_file"), tool("my_odd_tool")];
        let examples = for_tools(&tools);
        assert!(examples.iter().all(|(_, a)| *a == NONE || *a == "read_file"));
        assert_eq!(examples.iter().filter(|(_, a)| *a == "read_file").count(), 1);
    }

    #[test]
    fn single_tool_is_listed_once() {
        let tools = [tool("search_knowledge_base")];
        let shown = for_tools(&tools).iter().filter(|(_, a)| *a != NONE).count();
        assert_eq!(shown, 1);
    }
}
