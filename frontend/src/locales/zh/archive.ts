import type { archive as en } from '../en/archive'

export const archive: Record<keyof typeof en, string> = {
  archive: '归档',
  archiveCompressed: '本对话中已压缩的部分',
  archiveDeleted: '已删除的对话',
  archiveNone: '本对话尚未压缩过。',
  archiveNoDeleted: '没有已删除的对话。',
  archivedAt: '{n} 条消息，压缩于 {at}',
  read: '阅读',
  bringBack: '恢复',
}
