import type { ReactNode } from 'react'
import { Alert } from './alert.tsx'
import { Button } from './button.tsx'

interface MovedAlertProps {
  title: string
  text: string
  keep: { label: string; do: () => void }
  take: { label: string; do: () => void }
  /** The current content. */
  children?: ReactNode
}

/** Reports that somebody else changed what the user is editing, and lets the user overwrite or accept that change. */
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
