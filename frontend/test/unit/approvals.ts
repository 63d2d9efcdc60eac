/** A pending call, as the server reports it. */
import type { Approval } from '@/api/types'

export const approval = (over: Partial<Approval> = {}): Approval => ({
  id: 'p1',
  session_id: 's',
  work_id: 'w1',
  call_id: 'c1',
  tool: 'terminal',
  effect: 'execute',
  arguments: { command: 'make report', timeout: 60 },
  shown: { command: 'make report', cwd: 'scratch/', network: false, level: 'standard' },
  reason: 'Commands ask.',
  hash: 'abc',
  asked_at: 1000,
  expires_at: Date.now() / 1000 + 300,
  ...over,
})

export const change = (path: string): Approval =>
  approval({
    tool: 'edit_file',
    effect: 'write',
    shown: {
      ...{ command: `change ${path}`, cwd: '', network: false, level: '', path },
      diff: `--- a/${path}\n+++ b/${path}\n@@ -1,3 +1,3 @@\n # Memory\n-Tea\n+Coffee\u202e\n The end\n`,
    },
  })
