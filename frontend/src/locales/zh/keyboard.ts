import type { keyboard as en } from '../en/keyboard'

export const keyboard: Record<keyof typeof en, string> = {
  shortcuts: '键盘快捷键',
  palette: '命令面板',
  paletteHint: '输入命令、会话或文件…',
  commands: '命令',
  nothingFound: '没有结果。',
  nextPane: '下一个面板',
  previousPane: '上一个面板',
  previousSession: '上一个会话',
  nextSession: '下一个会话',
  stopWork: '停止正在执行的工作',
  saveFile: '保存打开的文件',
  focusComposer: '写消息',
  sendMessage: '发送消息',
  newLine: '消息换行',
}
