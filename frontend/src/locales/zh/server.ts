/**
 * Translations of the server's English texts, by code and variant. A translation is used only if the server sent all
 * the values that it names; otherwise the server's own text is shown.
 */
export const server: Record<string, string> = {
  // Why a call needs an approval.
  'because.separator': '；',
  'because.end': '。',
  'because.persona': '更改人设、记忆和技能需要批准',
  'because.network': '访问网络需要批准',
  'because.unfenced': '在沙箱外运行需要批准',
  'because.configured': '此操作需要批准',
  'because.reads': '运行会读取文档的命令需要批准，文档可能包含不受信任的内容',
  'from.outside': '不受信任的内容可能正试图触发此操作',
  'from.page': '不受信任的内容（网页 {file}）可能正试图触发此操作',
  'from.document': '不受信任的内容（文档 {file}）可能正试图触发此操作',
  'from.attachment': '不受信任的内容（附件 {file}）可能正试图触发此操作',
  'from.command': '不受信任的内容（可访问网络或文档的命令输出）可能正试图触发此操作',
  'from.imported': '不受信任的内容（导入的对话文件）可能正试图触发此操作',
  'from.output': '不受信任的内容（命令输出）可能正试图触发此操作',
  'from.skill': '不受信任的内容（技能文件 {file}）可能正试图触发此操作',

  // Why a work failed.
  'auth.missing': '{provider} 需要 API 密钥。请设置 {setting}。',
  'auth.not_accepted': '{provider} 拒绝了该 API 密钥。请检查 {setting}。',
  'auth.unsendable': '无法用于 {provider}：API 密钥包含无效字符。请检查 {setting}。',
  quota: '{provider} 账户余额或额度不足。请充值，或选择其他模型。',
  model_not_found: '{provider} 不提供模型“{model}”。请选择其他模型。',
  context_overflow: '对话超出模型的上下文窗口。请压缩对话，或新建对话。',
  'context_overflow.limit': '对话超出模型的上下文窗口（{limit} 词元）。请压缩对话，或新建对话。',
  rate_limited: '{provider}：已达到速率限制（429）。',
  'unreachable.bad_address': '无法连接 {provider}（{address}）：{cause}。请在设置中更正 base_url。',
  'unreachable.dns': '无法连接 {provider}（{address}）：找不到主机名。请检查 base_url 和网络连接。',
  'unreachable.refused': '无法连接 {provider}（{address}）：连接被拒绝。请启动服务器，或更正 base_url。',
  'unreachable.connect_timeout':
    '无法连接 {provider}（{address}）：10 秒内无响应。请检查 base_url、网络连接和代理。',
  'unreachable.tls':
    '无法连接 {provider}（{address}）：TLS 连接失败（{cause}）。请检查 base_url 应以 http:// 还是 https:// 开头，以及本机证书是否为最新。',
  'unreachable.redirected':
    '无法连接 {provider}（{address}）：被重定向到 {cause}，而 API 密钥不会发送到其他地址。如果该地址正确，请将其设为 base_url。',
  'unreachable.no_such_path':
    '无法连接 {provider}（{address}）：此路径下找不到 API（404）。请检查 base_url，它通常以 /v1 结尾。',
  'unreachable.not_an_api':
    '无法连接 {provider}（{address}）：返回的是网页，而不是 API 响应。请检查 base_url，它通常以 /v1 结尾。',
  'unreachable.other': '无法连接 {provider}（{address}）：{cause}。请检查网络连接后重试。',
  'timeout.first_byte':
    '{provider} 在 {waited} 秒内未开始响应。请重试；如果问题持续，服务器可能已过载或停止运行。',
  'timeout.idle':
    '{provider} 开始响应后，{waited} 秒内未发送任何内容。请重试；如果问题持续，服务器可能已过载或停止运行。',
  interrupted: '{provider} 的回复已中断（{cause}）。请继续或重试。',
  bad_stream: '无法读取 {provider} 的回复（{cause}）。请检查基础 URL 是否为兼容 OpenAI 的 API。',
  refused: '{provider} 拒绝了请求（{status}）。请修改请求，或选择其他模型。',
  server: '{provider} 返回服务器错误（{status}）。',
  empty: '{provider} 的 {model} 返回了空回复。请重试，或换一种说法。',
  unknown_model: '模型“{model}”已不可用。请选择其他模型，在设置中恢复该模型，或启动其服务器。',
  prompt_unreadable:
    '{file} 是每次请求的组成部分，但无法读取（{cause}）。未向模型发送任何内容。请修复或移除该文件，然后重试。',
  said: '服务商消息：“{said}”。',
  later: '请稍后重试。',
  laterSeconds: '请在 {n} 秒后重试。',
  laterMinutes: '请在 {n} 分钟后重试。',
  laterHours: '请在 {n} 小时后重试。',

  // Why a call was refused. If only the server's sentence says what exactly is wrong, that one is shown.
  nothing_to_continue: '上一条回复已完整，无需继续。',
  queue_full: '队列已满，请先移除一条消息，或等待其中一条发送后再试。',
  already_answered: '此请求已处理。',
  bad_address: 'URL 无效。请输入以 http:// 或 https:// 开头的完整地址。',
  bad_model: '请输入模型名称。',
  bad_session: '此文件不是导出的对话。',
  busy: '此对话正在运行。请等待完成，或先停止运行。',
  cannot_see: '此模型不支持图片。请选择其他模型，或移除图片。',
  changed_on_disk: '此文件在磁盘上已更改。',
  changed_since: '内容已更改，请重新查看后再试。',
  disk_error: '磁盘报告错误，已停止写入此文件。请检查磁盘后重试。',
  empty_message: '请输入消息或添加附件。',
  empty_query: '请输入搜索内容。',
  empty_summary: '摘要不能为空。',
  exists: '已存在同名文件。',
  expired: '此请求已过期。',
  fenced: '另一个服务器已接管此主文件夹，或此主文件夹正在关闭。未写入任何内容，请重试。',
  hash_differs: '此请求已更改，请重新查看。',
  internal: '发生内部错误，请查看服务器日志。',
  locked: '另一个 miniclaw 正在使用此主文件夹。',
  never_always: '此类请求每次都需要批准，无法设为始终允许。',
  no_host: '只有获取网页才能按主机始终允许。',
  newer_format: '此文件由更高版本的 miniclaw 写入，请更新 miniclaw。',
  no_chunks: '此文件未建立索引。',
  no_model: '尚未连接模型，请先连接服务商。',
  no_secret: '服务器已重启，请重新加载页面。',
  no_thinking_switch: '此模型不支持开关思考。',
  no_words: '请输入搜索关键词。',
  not_allowed: '无法访问此文件。',
  not_found: '找不到该项目，可能已被删除或移动。',
  not_pinned: '只有技能文件需要信任。',
  not_utf8: '不是 UTF-8 文本文件。',
  shutting_down: '服务器正在关闭。',
  signed_out: '请先登录。',
  too_deep: '此文件所在文件夹超过 12 层，请移到更上层后再信任。',
  too_many_tries: '登录失败次数过多，请稍后重试。',
  too_short: '对话过短，无法压缩。',
  unsearchable: '目前无法检索此文件夹。',
  wrong_token: '访问令牌或登录链接无效。',

  bad_name: '名称必须是 1 到 100 字节的一行文字。',
  confirm_loosening: '此更改会降低安全性，需要确认。',
  key_needed: '现有密钥属于旧地址。请输入新地址的密钥。',
  needs_token: '其他设备将可以访问此服务器。请先在 .env 中设置 MINICLAW_TOKEN 并重启。',
  not_editable: '该服务商在别处配置（环境变量、.env、config.yml 的 models，或在本机发现），请在那里更改。',
  provider_changed: '地址已在此期间更改，未保存任何内容。请重试。',
  provider_exists: '该地址的服务商已存在。',
  sandbox_off: '只能在命令行用 --sandbox off 关闭沙箱。',
  unknown_provider: '该服务商已不存在。',
  config_not_editable: '无法在此更改 config.yml 而不丢失其中内容。请直接编辑该文件。',
  bad_key: 'API 密钥无效：包含空格、引号或其他无效字符，或者过长。',

  // Why a file cannot be read.
  'unreadable.not_utf8': '不是 UTF-8 文本文件。',
  'unreadable.zero_bytes': '不是文本文件：包含空字节。',
  'unreadable.damaged': '文件已损坏，或内容与扩展名不符。',
  'unreadable.encrypted': '文件受密码保护，请取消密码后保存。',
  'unreadable.no_text': '未找到文本，可能只包含扫描图像。',
  'unreadable.too_deep': '嵌套层级过深，无法读取。',
  'unreadable.memory_limit': '读取此文件占用内存过多。',
  'unreadable.time_limit': '读取此文件耗时过长。',
  'unreadable.text_limit': '文本超过 8 MB，请拆分文件。',
  'unreadable.archive_limit': '解压后超过 64 MB，或包含超过 4,096 个文件。',
  'unreadable.file_limit': '文件超过 10 MB，请拆分文件。',
  'unreadable.not_opened': '无法打开文件：{detail}。',
  'unreadable.no_reader': '暂时无法读取文档：{detail}。',

  // Problems of a skill, and hints about it.
  'skill.not_utf8': '不是 UTF-8 文本文件（第 {at} 字节）。请以 UTF-8 编码保存。',
  'skill.no_front_matter':
    '缺少前置元数据。请以一行 --- 开头，写上 name: 和 description:，再以一行 --- 结束。',
  'skill.not_closed': '前置元数据未结束。请在最后一个字段后添加一行 ---。',
  'skill.too_long': '前置元数据超过 64 KB。请将说明移到其下方。',
  'skill.not_yaml': '前置元数据不是有效的 YAML（{reason}）。含有 :、# 或括号的值请加引号。',
  'skill.not_fields': '前置元数据不是“键: 值”列表。',
  'skill.no_name': '缺少名称。请在两行 --- 之间添加一行“name: …”。',
  'skill.no_description': '缺少描述。请添加一行“description: …”，说明技能的用途和使用时机。',
  'skill.unreadable': '无法读取：{reason}',
  'skill.unlisted_too_deep': '部分文件无法信任。{path} 所在文件夹超过 12 层，请移到更上层或移除。',
  'skill.unlisted_too_many': '部分文件无法信任。{path} 超出 20,000 个文件的上限，请移除一些文件。',
  'skill.unlisted_name': '部分文件无法信任。{path} 的名称不是文本、过长或包含无效字符，请重命名。',
  'skill.unlisted_closed': '部分文件无法信任。{path} 无法读取，请修改权限或移除。',
  'skill.metadata': '已忽略 metadata：必须为“键: 值”列表。',
  'skill.long_name': '名称过长，模型仅能看到前 {n} 个字符。',
  'skill.name_form': '此名称可用，但其他智能体要求 1 到 64 个字符，仅含 a–z、0–9 和 -。',
  'skill.folder_name': '其他智能体要求名称与文件夹名称 {folder} 一致。',
  'skill.long_description': '描述有 {length} 个字符，模型仅能看到前 {n} 个。',
  'skill.hidden':
    '文件夹中有命令可读取但不受信任的隐藏文件（{path}）。请移除，或使用 miniclaw skills trust 信任。',

  // Why a line of tests.jsonl is not a test.
  'bad_test.not_a_test': '{reason}。格式示例：{"query": "…", "file": "notes.md", "heading": "…"}',
  'bad_test.no_query': '问题不能为空。',
  'bad_test.nothing_expected': '缺少 file、heading 或 text，测试无法失败。',

  // What commands may do on this machine.
  'sandbox.standard':
    '命令在沙箱（Landlock 和 seccomp）中运行：只能写入 scratch/，只能读取系统文件和主文件夹中的 workspace/、memory/ 和 skills/（按需读取 knowledge/），无法访问网络。',
  'sandbox.strict':
    '命令在独立命名空间（{program}）和沙箱（Landlock 和 seccomp）中运行：只能写入 scratch/，只能读取系统文件和主文件夹中的 workspace/、memory/ 和 skills/（按需读取 knowledge/），无法访问网络。',
  'sandbox.signals': '在此内核（低于 Linux 6.12）上，命令仍可向同一用户的进程发送信号。',
  'sandbox.no_landlock':
    '无法运行命令：此内核的 Landlock 版本为 {version}，沙箱需要版本 {needed}（Linux 6.2 或更高，且未被启动参数或容器过滤规则禁用）。',
  'sandbox.no_bubblewrap':
    '无法运行命令：沙箱级别为严格，但未安装 bubblewrap（bwrap）。请安装，或选择标准级别。',
  'sandbox.off': '沙箱已在命令行中关闭：命令拥有启动 miniclaw 的用户的全部权限。',

  // Sentences that have no code, with what is in parentheses left out.
  'text.Skills Snapshot': '技能概览',
  'text.Soul': '灵魂',
  'text.Identity': '身份',
  'text.User Profile': '用户资料',
  'text.Agents Guide': '智能体指南',
  'text.Long-term Memory': '长期记忆',
  'text.Permission Mode': '权限模式',
  'text.File not found': '找不到文件',
  'text.File is empty': '文件为空',
  'text.Broken link': '链接已失效',
  'text.Memory retrieval is on: relevant passages are added to each message':
    '记忆检索已开启：相关片段会添加到每条消息',
  "text.the position of these messages wasn't recorded ()": '未记录这些消息的位置',
  'text.these messages are already restored': '这些消息已恢复',
  'text.later messages were compacted after them (): restore those first':
    '此后又压缩了更新的消息，请先恢复它们',
  'text.the conversation continues differently after these messages; if it has another version, switch back to the original one first':
    '此后的对话内容已不同；如果有其他版本，请先切换回原版本',
  "text.the summary of these messages was changed in the session's file":
    '这些消息的摘要已在对话文件中被修改',

  // Words before a sentence of the server that alone says what exactly is wrong.
  'message.attachment_too_large': '附件过大：{message}',
  'message.bad_arguments': '修改后的参数无效：{message}',
  'message.bad_parameter': '参数无效：{message}',
  'message.bad_setting': '设置无效：{message}',
  'message.config_invalid': '未保存，配置文件无效，请先修正：{message}',
  'message.bad_path': '路径无效：{message}',
  'message.bad_session_id': '对话 ID 无效：{message}',
  'message.environment_wins': '未保存，服务器的环境变量优先：{message}',
  'message.io': '读写文件失败：{message}',
  'message.not_picture': '无法识别的图片：{message}',
  'message.not_readable': '无法读取此文档：{message}',
  'message.not_saved': '无法保存对话：{message}',
  'message.not_text': '不是文本文件：{message}',
  'message.picture_gone': '图片已不存在：{message}',
  'message.refused': '操作被拒绝：{message}',
  'message.stays_archived': '无法恢复这些消息：{message}',
  'message.too_large': '内容过大：{message}',
  'message.too_long': '内容过长：{message}',
  'message.too_many_attachments': '附件过多：{message}',
}
