import type { usage as en } from '../en/usage'

export const usage: Record<keyof typeof en, string> = {
  usageHint: '按供应商的计数，从对话文件中读出。已删除的不计入；供应商不计数的地方为零。',
  usageNone: '还没有提过问题。',
  usageChart: '每天的词元数，最多 {most}',
  usageOfDay: '{day}：新输入 {fresh}，缓存 {cached}，输出 {output}',
  usageByModel: '按模型',
  usageByDay: '按天',
  usageAsTable: '以表格显示每天',
  usageDay: '日期',
  usageWorks: '消息',
  usageInput: '输入',
  usageFresh: '输入（新）',
  usageCached: '输入（缓存）',
  usageOutput: '输出',
  usageTotal: '合计',
  usageUnnamed: '未注明',
}
