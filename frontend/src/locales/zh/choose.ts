import type { choose as en } from '../en/choose'

export const choose: Record<keyof typeof en, string> = {
  chooseSessions: '选择对话',
  chosenCount: '已选 {n} 个',
  chooseAll: '全选',
  chooseNone: '取消全选',
  chooseDone: '完成',
  deletedMany: '已删除 {n} 个对话',
  restoredMany: '已恢复 {n} 个对话',
  awayMany: '已搁置 {n} 个对话',
  backMany: '{n} 个对话已放回列表',
}
