import { type CommandContext, defineCommands } from '@/app/command'
import { PLAYGROUND, playgroundHref } from '@/features/retrieval/address'
import { showMiddle } from '@/stores/ui'

const show =
  (href: string) =>
  ({ navigate }: CommandContext): void => {
    navigate(href)
    showMiddle()
  }

export const playgroundCommands = defineCommands([
  { id: 'playground', label: 'playground', keys: null, run: show(PLAYGROUND) },
  { id: 'tests', label: 'retrievalTests', keys: null, run: show(playgroundHref({ tab: 'tests' })) },
])
