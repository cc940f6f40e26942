import type { ReactNode } from 'react'
import { Alert } from './alert.tsx'
import { Button } from './button.tsx'

interface MovedAlertProps {
  title: string
  text: string
  keep: { label: string; do: () => void }
  take: { label: string; do: () => void }
  /** What stands there by now. */
  children?: ReactNode
}

/** Somebody else changed what one is changing: one's own goes on top of theirs, or gives way to it. */
export const MovedAlert = ({ title, text, keep, take, children }: MovedAlertProps) => (
  <Alert tone="warning" title={title} isLive>
    <p>{text}</p>
    {children}
    <div className="flex flex-wrap gap-2">
      {[keep, take].map((choice) => (
        <Button key={choice.label} tone="plain" size="small" onClick={choice.do}>
          {choice.label}
        </Button>
      ))}
    </div>
  </Alert>
)
