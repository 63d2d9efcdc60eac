/**
 * Translations of the server's English texts, by code and variant. A translation is used only if the server sent all
 * the values that it names; otherwise the server's own text is shown.
 */
export const server: Record<string, string> = {
  // Why a call needs an approval.
  'because.separator': '；',
  'because.end': '。',
  'because.persona': '人设、记忆和技能的每次改动都会先让你过目',
  'because.network': '访问网络前会先询问',
  'because.unfenced': '它不会在无网络的沙箱中运行',
  'because.configured': '配置要求对此先询问',
  'because.reads': '命令会读取你的文档，文档中的文本可能怀有你并不想要的目的',
  'from.outside': '此对话读取过来自外部的文本，那段文本可能比你更想这样做',
  'from.page': '此对话读取过来自外部的文本（网页 {file}），那段文本可能比你更想这样做',
  'from.document': '此对话读取过来自外部的文本（文档 {file}），那段文本可能比你更想这样做',
  'from.attachment': '此对话读取过来自外部的文本（附件 {file}），那段文本可能比你更想这样做',
  'from.command': '此对话读取过来自外部的文本（可联网或读取文档的命令的输出），那段文本可能比你更想这样做',
  'from.imported': '此对话本身来自一个导入的文件，其中的文本可能比你更想这样做',
  'from.output': '此对话读取过来自外部的文本（命令的输出），那段文本可能比你更想这样做',
  'from.skill':
    '此对话读取过来自外部的文本（{file}，其当前内容尚未得到你的信任），那段文本可能比你更想这样做',

  // Why a work failed.
  'auth.missing': '{provider} 需要 API 密钥，但没有设置。请设置 {setting}。',
  'auth.not_accepted': '{provider} 不接受该 API 密钥。请检查 {setting}。',
  'auth.unsendable': '无法用该 API 密钥访问 {provider}：其中有密钥不会含有的字符。请检查 {setting}。',
  quota: '{provider} 账户的余额或额度已用完。请充值，或选择其他模型。',
  model_not_found: '{provider} 不提供模型“{model}”。请在设置中选择其他模型。',
  context_overflow: '对话超出了模型能读取的长度。请压缩对话，或开始新对话。',
  'context_overflow.limit': '对话超出了模型能读取的长度（{limit} 个词元）。请压缩对话，或开始新对话。',
  rate_limited: '{provider} 暂时不再接受请求。',
  'unreachable.bad_address': '无法连接 {provider}（{address}）：{cause}。请在设置中更正 base_url。',
  'unreachable.dns': '无法连接 {provider}（{address}）：找不到该名称。请检查 base_url 和网络连接。',
  'unreachable.refused':
    '无法连接 {provider}（{address}）：那里没有服务在监听。请启动该服务，或更正 base_url。',
  'unreachable.connect_timeout':
    '无法连接 {provider}（{address}）：10 秒内没有应答。请检查 base_url、网络连接和代理。',
  'unreachable.tls':
    '无法连接 {provider}（{address}）：无法建立安全连接（{cause}）。请检查 base_url 开头应为 http:// 还是 https://，以及本机的证书是否有效。',
  'unreachable.redirected':
    '无法连接 {provider}（{address}）：它转向 {cause}，而密钥绝不会转发到其他地址。如果该地址正确，请填入 base_url。',
  'unreachable.no_such_path':
    '无法连接 {provider}（{address}）：此路径没有这样的 API（404）。请检查 base_url：它通常以 /v1 结尾。',
  'unreachable.not_an_api':
    '无法连接 {provider}（{address}）：返回的是网页而不是回答。请检查 base_url：它通常以 /v1 结尾。',
  'unreachable.other': '无法连接 {provider}（{address}）：{cause}。请检查网络连接后重试。',
  'timeout.first_byte':
    '{provider} 在 {waited} 秒内没有开始回答。请重试；如果一直如此，则服务器过载或已停止。',
  'timeout.idle':
    '{provider} 开始回答后，{waited} 秒内没有新的内容。请重试；如果一直如此，则服务器过载或已停止。',
  interrupted: '{provider} 的回答在结束前中断（{cause}）。请继续，或重试。',
  bad_stream: '无法读取 {provider} 的回答（{cause}）。请检查该地址是否为兼容 OpenAI 的 API。',
  refused: '{provider} 拒绝了请求（{status}）。请修改请求，或更换模型。',
  server: '{provider} 自身出现故障（{status}）。',
  empty: '{provider} 的模型 {model} 没有返回任何内容。请重试，或换一种说法。',
  unknown_model:
    '这里已经没有模型“{model}”。请在输入框下方选择其他模型，或恢复它（config.yml、.env，或启动其服务）并重新启动 miniclaw。',
  prompt_unreadable:
    '{file} 是每次请求的组成部分，但无法读取（{cause}）。没有向模型发送任何内容。请使该文件可读，或移除它，然后重试。',
  said: '对方的说明：“{said}”。',
  later: '请稍后重试。',
  laterSeconds: '请在 {n} 秒后重试。',
  laterMinutes: '请在 {n} 分钟后重试。',
  laterHours: '请在 {n} 小时后重试。',

  // Why a call was refused. If only the server's sentence says what exactly is wrong, that one is shown.
  already_answered: '此请求已得到答复。',
  bad_address: '该地址不可用。请填写以 http:// 或 https:// 开头的完整地址。',
  bad_model: '请填写模型名称。',
  bad_session: '该文件不是导出的对话。',
  busy: '该对话正在工作。请等待其结束，或先停止它。',
  cannot_see: '该模型无法查看图片。请选择其他模型，或移除图片。',
  changed_on_disk: '该文件在磁盘上已被更改。',
  changed_since: '其内容在此期间已更改。请重新查看后再试。',
  disk_error: '磁盘报告了错误，因此不再写入该文件。请检查磁盘后重试。',
  empty_message: '请填写消息，或附上文件。',
  empty_query: '请填写要搜索的内容。',
  empty_summary: '摘要为空。',
  exists: '已有同名的文件。',
  expired: '此请求已过期。',
  fenced: '另一个服务器已接管此主目录，或它正在关闭。没有写入任何内容，请重试。',
  hash_differs: '此请求在此期间已更改。请重新查看。',
  internal: '服务器内部出错。日志中有更多信息。',
  locked: '另一个进程正在使用此主目录。',
  never_always: '此类请求每次都要询问，无法始终允许。',
  newer_format: '该文件由更新版本的 miniclaw 写入。请更新 miniclaw。',
  no_chunks: '该文件不在索引中。',
  no_model: '没有可用的模型。请先连接模型。',
  no_secret: '此页面来自服务器重新启动之前。请重新加载。',
  no_thinking_switch: '该模型没有思考开关。',
  no_words: '请填写要搜索的词。',
  not_allowed: '不允许访问该文件。',
  not_found: '找不到它：可能已被删除或移动。',
  not_pinned: '只有技能中的文件需要信任。',
  not_utf8: '不是 UTF-8 文本文件。',
  shutting_down: '服务器正在关闭。',
  signed_out: '请先登录。',
  too_deep: '该文件位于 12 层以下的文件夹中。请把它移到上层，才能信任它。',
  too_many_tries: '错误的令牌过多。请稍后重试。',
  too_short: '对话太短，无需压缩。',
  unsearchable: '目前无法搜索该文件夹。',
  wrong_token: '令牌或登录链接无效。',

  // Why a file cannot be read.
  'unreadable.not_utf8': '不是 UTF-8 文本。',
  'unreadable.zero_bytes': '不是文本：其中有值为零的字节。',
  'unreadable.damaged': '文件已损坏，或其内容与扩展名不符。',
  'unreadable.encrypted': '文件有密码保护。请另存为没有密码的文件。',
  'unreadable.no_text': '其中没有文字：可能是扫描的图片。',
  'unreadable.too_deep': '嵌套层次过深，无法读取。',
  'unreadable.memory_limit': '读取它需要的内存过多。',
  'unreadable.time_limit': '读取它需要的时间过长。',
  'unreadable.text_limit': '其中的文字超过 8 MB。请拆分该文件。',
  'unreadable.archive_limit': '解压后超过 64 MB，或包含超过 4,096 个文件。',
  'unreadable.file_limit': '文件超过 10 MB。请拆分该文件。',
  'unreadable.not_opened': '无法打开文件：{detail}。',
  'unreadable.no_reader': '目前无法读取文档：{detail}。',

  // Problems of a skill, and hints about it.
  'skill.not_utf8': '文件不是 UTF-8 文本（第 {at} 字节）：请以 UTF-8 编码保存。',
  'skill.no_front_matter':
    '文件没有 front matter：请以一行 --- 开头，写上 name: 和 description:，再以一行 --- 结束。',
  'skill.not_closed': 'front matter 没有结束：请在最后一个字段之后加一行 ---。',
  'skill.too_long': 'front matter 超过 64 KB：请把说明写在它下面。',
  'skill.not_yaml': 'front matter 不是有效的 YAML（{reason}）：含有 :、# 或括号的值请加引号。',
  'skill.not_fields': 'front matter 不是“键: 值”的列表。',
  'skill.no_name': 'front matter 没有名称：请在两行 --- 之间加一行“name: …”。',
  'skill.no_description': 'front matter 没有描述：请加一行“description: …”，说明技能的作用和使用时机。',
  'skill.unreadable': '无法读取：{reason}',
  'skill.unlisted_too_deep': '无法信任它的全部文件：{path} 位于 12 层以下的文件夹中，请移到上层或移除。',
  'skill.unlisted_too_many': '无法信任它的全部文件：{path} 超出了 20,000 个文件的上限，请移除一些文件。',
  'skill.unlisted_name': '无法信任它的全部文件：{path} 的名称不是文本、过长或含有不允许的字符，请重命名。',
  'skill.unlisted_closed': '无法信任它的全部文件：{path} 无法读取，请修改权限或移除。',
  'skill.metadata': 'metadata 已被忽略：它必须是“键: 值”的列表。',
  'skill.long_name': '名称较长，模型只看到前 {n} 个字符。',
  'skill.name_form': '名称在这里可用，但其他智能体要求 1 到 64 个字符，只含 a–z、0–9 和 -。',
  'skill.folder_name': '其他智能体要求名称与文件夹名 {folder} 相同。',
  'skill.long_description': '描述有 {length} 个字符，模型只看到前 {n} 个。',
  'skill.hidden':
    '文件夹中有隐藏文件，命令可以读取，但没有人信任其当前版本（{path}）：请移除，或用 miniclaw skills trust 信任。',

  // Why a line of tests.jsonl is not a test.
  'bad_test.not_a_test': '{reason}。格式示例：{"query": "…", "file": "notes.md", "heading": "…"}',
  'bad_test.no_query': '问题为空。',
  'bad_test.nothing_expected': '没有写 file、heading 或 text，因此无从判断对错。',

  // What commands may do on this machine.
  'sandbox.standard':
    '命令在沙箱（Landlock 和 seccomp）中运行：只能写入 scratch/，只能读取系统文件和主目录中的 workspace/、memory/ 和 skills/（knowledge/ 需由调用提出），没有网络。',
  'sandbox.strict':
    '命令在自己的命名空间（{program}）中运行，并在其中的沙箱（Landlock 和 seccomp）里：只能写入 scratch/，只能读取系统文件和主目录中的 workspace/、memory/ 和 skills/（knowledge/ 需由调用提出），没有网络。',
  'sandbox.signals': '在此内核（早于 Linux 6.12）上，命令仍可向同一用户的进程发送信号。',
  'sandbox.no_landlock':
    '命令被拒绝：此内核提供的 Landlock 版本为 {version}，沙箱需要版本 {needed}（Linux 6.2 或更新，且未被启动参数或容器的过滤规则关闭）。',
  'sandbox.no_bubblewrap':
    '命令被拒绝：沙箱级别为严格，但未安装 bubblewrap（bwrap）。请安装它，或选择标准级别。',
  'sandbox.off': '沙箱已在命令行中关闭：命令拥有启动 miniclaw 的用户的全部权限。',
}
