import type { permission as en } from '../en/permission'

export const permission: Record<keyof typeof en, string> = {
  modeDefaultHint: '按设置中的规则',
  modeReadOnlyHint: '拒绝更改文件和执行命令',
  modePlanHint: '只写计划；拒绝更改文件和执行命令',
  modeAskHint: '更改文件、执行命令和访问网络都需要批准',
  modeSandboxedHint: '沙箱内的命令无需批准即可执行',
  sandboxedSure: '允许沙箱内的命令直接执行？',
  sandboxedMeans: '在此对话中，只要命令留在沙箱内，即可直接执行：只能写入 scratch/，且无法访问网络。',
  sandboxedStill: '其他操作仍会征求批准。读取不受信任的内容后，执行命令会再次征求批准。',
  sandboxedConfirm: '在此对话中允许',
  planReady: '此对话处于计划模式。',
  planStart: '执行计划',
  planStartHint: '恢复默认权限，并发送“请执行该计划。”',
  planMessage: '请执行该计划。',
}
