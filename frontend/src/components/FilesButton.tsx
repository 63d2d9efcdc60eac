import { type ReactNode, useRef } from 'react'
import { IconButton } from '@/components/ui/Button'

interface Props {
  label: string
  icon: ReactNode
  size?: 'icon' | 'fieldIcon'
  onFiles: (files: File[]) => void
}

/** A button that opens the system's file dialog. */
export function FilesButton({ label, icon, size = 'icon', onFiles }: Props) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={event => {
          onFiles([...(event.target.files ?? [])])
          // Allows choosing the same file again.
          event.target.value = ''
        }}
      />
      <IconButton label={label} size={size} onClick={() => input.current?.click()}>
        {icon}
      </IconButton>
    </>
  )
}
