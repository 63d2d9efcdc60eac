import { defineCommands } from '@/app/command'
import { useBuffers } from '@/stores/buffers'
import { useUi } from '@/stores/ui'
import { compare, endComparison, save } from './actions'

export const editorCommands = defineCommands([
  {
    id: 'saveFile',
    label: 'saveFile',
    keys: { code: 'KeyS', mod: true },
    run: () => {
      const { file } = useUi.getState()
      if (file) void save(file)
    },
  },
  {
    id: 'diffFile',
    label: 'compareBeforeSave',
    keys: { code: 'KeyD', alt: true },
    run: () => {
      const { file } = useUi.getState()
      if (!file) return
      if (useBuffers.getState().comparing?.file === file) endComparison(file)
      else void compare(file)
    },
  },
  {
    id: 'wrapLines',
    label: 'wrapLines',
    keys: { code: 'KeyZ', alt: true },
    run: () => useUi.setState(({ wrap }) => ({ wrap: !wrap })),
  },
])
