import type { attach as en } from '../en/attach'

export const attach: Record<keyof typeof en, string> = {
  attachFiles: '添加文本文件',
  attachHere: '松开以随消息发送（文本文件）',
  attachedFiles: '附件',
  attachedNow: '已添加：{name}',
  attachTooMany: '一条消息最多 {n} 个文件，其余请随下一条发送。',
  attachTooLarge: '单个附件最大 {n} KB。请只附上需要的部分，或放入知识库供检索。',
  attachTogether: '附件合计最大 {n} MB。请改为放入知识库供检索。',
  attachNoText: '不是文本。PDF 等文档请复制到 knowledge/ 文件夹，其中的文字可被检索。',
  attachImage: '不能添加图片：只有文字会发给模型。请附上或输入图中的文字。',
  attachToKnowledge: '放入知识库',
  pastedName: '粘贴的文本.txt',
  pastedNameAgain: '粘贴的文本 {n}.txt',
  insertAsText: '还原为文字',
  removeFile: '移除 {name}',
  viewFile: '查看 {name}',
  viewFileHint: '随消息发给模型，此处不可修改。',
  emptyFile: '（空）',
  filesNotKept: '文件过大，浏览器无法保存：刷新页面后会丢失。',
  filesTooLong: '加上这些文件，请求约 {n} 词元，而模型最多读 {of}。请少附一些，或放入知识库。',
  fileTokens: '{n} 词元',
}
