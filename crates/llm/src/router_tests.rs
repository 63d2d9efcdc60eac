use super::*;
use crate::request::{Message, Role};
use crate::turns::CallResult;
use serde_json::json;

fn tool(name: &str, description: &str) -> Tool {
    Tool { name: name.into(), description: description.into(), parameters: json!({}) }
}

fn asking(question: &str) -> Conversation {
    Conversation::new(&[Message {
        role: Role::User,
        text: question.into(),
        calls: vec![],
        tool_call_id: String::new(),
    }])
}

fn text(prompt: &Prompt) -> String {
    format!("{:?}", prompt.pieces)
}

#[test]
fn tool_description_is_cut_to_first_sentence() {
    assert_eq!(first_sentence("Reads a file, e.g. notes.md. Paths are relative."), "Reads a file, e.g. notes.md");
    assert_eq!(first_sentence("读取工作区里的一个文本文件的内容。路径是相对的。"), "读取工作区里的一个文本文件的内容");
    assert_eq!(first_sentence("No end\nhere"), "No end here");
}

#[test]
fn prefix_is_independent_of_question() {
    let tools = [tool("read_file", "Reads a file."), tool("get_weather", "Weather.")];
    let prompt = text(&prefix(&tools));
    assert!(prompt.contains("- read_file: Reads a file"));
    assert!(prompt.contains("- none:"));
    assert_eq!(prompt, text(&prefix(&tools)));
}

#[test]
fn added_passages_are_not_routed() {
    assert_eq!(strip_retrieved_passages("几点开会？\n[记忆检索结果]\n天气……"), "几点开会？");
    assert!(!text(&question(&asking("hi\n[记忆检索结果]\nread_file"))).contains("read_file"));
}

#[test]
fn only_dependent_question_includes_previous_one() {
    let two = |second: &str| {
        let mut conversation = asking("北京明天天气怎么样？");
        conversation.turns.extend(asking(second).turns);
        text(&question(&conversation))
    };
    assert!(two("那上海呢？").contains("北京"));
    assert!(two("and in Rome?").contains("北京"));
    assert!(!two("谢谢你").contains("北京"));
    assert!(!two("What is the capital of Peru?").contains("北京"));
}

#[test]
fn named_file_favours_a_tool_and_follow_up_does_not() {
    let mut conversation = asking("hello");
    assert_eq!(routing_context(&conversation), RoutingContext::First);
    conversation.turns.extend(asking("when is it?").turns);
    assert_eq!(routing_context(&conversation), RoutingContext::Later);
    assert_eq!(routing_context(&asking("read a.md")), RoutingContext::ExternalReference);
}

#[test]
fn tool_results_are_summarised_briefly() {
    let mut conversation = asking("What is in a.md?");
    conversation.turns[0].results.push(CallResult {
        name: "read_file".into(),
        arguments: r#"{"path":"a.md"}"#.into(),
        text: "x".repeat(5000),
    });
    let prompt = text(&question(&conversation));
    assert!(prompt.contains("Done: read_file"));
    assert!(prompt.len() < 600);
}

#[test]
fn probability_is_shared_among_allowed_tokens_only() {
    let logits = [0.0, 2.0, 2.0, 50.0];
    let shares = probabilities(&logits, &[LlamaToken(1), LlamaToken(2)]);
    assert_eq!(shares, [(LlamaToken(1), 0.5), (LlamaToken(2), 0.5)]);
}
