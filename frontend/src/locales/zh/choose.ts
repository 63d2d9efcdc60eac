import type { choose as en } from '../en/choose'

export const choose: Record<keyof typeof en, string> = {
  chooseSessions: '选择对话',
  chosenCount: '已选 {n} 个',
  chooseAll: '全选',
  chooseNone: '取消选择',
  chooseDone: '完成',
  deletedMany: '已删除 {n} 个对话',
  restoredMany: '已恢复 {n} 个对话',
  archivedMany: '已归档 {n} 个对话',
  unarchivedMany: '已恢复 {n} 个对话',
}
