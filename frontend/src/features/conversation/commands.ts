import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'

export const conversationCommands = defineCommands([
  {
    id: 'thisConversation',
    label: 'thisConversation',
    keys: null,
    enabled: ({ sessionId }) => sessionId !== null,
    run: ({ sessionId }) => sessionId && openDialog({ name: 'conversation', session: sessionId }),
  },
])
