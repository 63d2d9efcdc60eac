import type { archive as en } from '../en/archive'

export const archive: Record<keyof typeof en, string> = {
  archive: '归档与回收站',
  archiveCompressed: '本对话中已压缩的部分',
  archiveDeleted: '已删除的对话',
  archiveNone: '本对话尚未压缩过。',
  archiveNoDeleted: '没有已删除的对话。',
  archivedAt: '{n} 条消息，压缩于 {at}',
  read: '阅读',
  bringBack: '恢复',
  archiveSessionsKept: '它们会一直保留，直到你彻底删除。',
  archiveFiles: '已删除的文件',
  archiveNoFiles: '没有已删除的文件。',
  archiveFilesKept: '保留最近 {n} 个，更早的会自动清除。',
  lastUsed: '最近使用于 {at}',
  deletedAt: '删除于 {at}',
  forget: '彻底删除',
  forgetThis: '彻底删除 {title}',
  forgetAsk: '彻底删除“{title}”？之后无法恢复。',
  keep: '保留',
  forgotten: '已彻底删除“{title}”',
}
