import { defineCommands } from '@/app/command'
import { bufferOf, useBuffers } from '@/stores/buffers'
import { useUi } from '@/stores/ui'
import { compare, endComparison, save } from './actions'
import { type Buffer, isDirty } from './buffer'

/** The text of the open file, once it is loaded. */
function openBuffer(): Buffer | null {
  const { file } = useUi.getState()
  return file && bufferOf(file)
}

const isCompared = ({ file }: Buffer): boolean => useBuffers.getState().comparing?.file === file

const isShown = (): boolean => useUi.getState().file !== null
const step = (by: 1 | -1) => () => void import('./tabs').then(({ stepTab }) => stepTab(by))

export const editorCommands = defineCommands([
  {
    id: 'saveFile',
    label: 'saveFile',
    keys: { code: 'KeyS', mod: true },
    // A saved file too: the keys must not open the browser's dialog then.
    enabled: () => openBuffer() !== null,
    run: () => {
      const buffer = openBuffer()
      if (buffer) void save(buffer.file)
    },
  },
  {
    id: 'diffFile',
    label: 'compareBeforeSave',
    keys: { code: 'KeyD', alt: true },
    enabled: () => {
      const buffer = openBuffer()
      return buffer !== null && (isDirty(buffer) || isCompared(buffer))
    },
    run: () => {
      const buffer = openBuffer()
      if (!buffer) return
      if (isCompared(buffer)) endComparison(buffer.file)
      else void compare(buffer.file)
    },
  },
  {
    id: 'wrapLines',
    label: 'wrapLines',
    keys: { code: 'KeyZ', alt: true },
    run: () => useUi.setState(({ wrap }) => ({ wrap: !wrap })),
  },
  {
    id: 'previousFile',
    label: 'previousFile',
    keys: { code: 'BracketLeft', alt: true },
    enabled: isShown,
    run: step(-1),
  },
  {
    id: 'nextFile',
    label: 'nextFile',
    keys: { code: 'BracketRight', alt: true },
    enabled: isShown,
    run: step(1),
  },
  {
    id: 'closeFile',
    label: 'closeFile',
    keys: { code: 'KeyW', alt: true },
    enabled: isShown,
    run: () => {
      const { file } = useUi.getState()
      if (file) void import('./tabs').then(({ closeTab }) => closeTab(file))
    },
  },
])
