import type { settings as en } from '../en/settings'

export const settings: Record<keyof typeof en, string> = {
  settings: '设置',
  general: '通用',
  readAloud: '回复完成后朗读',
  readAloudHint: '供屏幕阅读器使用。',
  solidPanes: '不透明的面板',
  languages: '语言',
  settingsApprovals: '无需询问即允许',
  settingsApprovalsHint: '每一行是某个工具的一个确切输入；其余遵循 config.yml 中的策略。',
  noRules: '除 config.yml 中的策略外，没有无需询问的调用。',
  ruleSince: '自 {at} 起',
  removeRule: '恢复询问 {tool}',
  ruleRemoved: '已恢复询问。',
  about: '关于',
  aboutHome: '文件夹',
  aboutSandbox: '沙箱',
  aboutVersion: '版本',
  sandboxOff: '沙箱已关闭：智能体运行的程序可以读取和修改你能访问的一切。',
}
