import { type ReactNode, useRef } from 'react'
import { IconButton } from '@/components/ui/Button'

interface Props {
  label: string
  icon: ReactNode
  className?: string | undefined
  onFiles: (files: File[]) => void
}

/** Opens the system's dialog for files. */
export function FilesButton({ label, icon, className, onFiles }: Props) {
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
          // The same file can be chosen again.
          event.target.value = ''
        }}
      />
      <IconButton label={label} className={className} onClick={() => input.current?.click()}>
        {icon}
      </IconButton>
    </>
  )
}
