'use client'

import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { EmptyState } from './empty-state.tsx'

interface NoMatchProps {
  title: string
  /** The label of the button that clears the filters. */
  clear: string
  onClear: () => void
  /** What to try instead. */
  children: ReactNode
}
/** The empty state of a list whose filters match nothing. */
export const NoMatch = ({ title, clear, onClear, children }: NoMatchProps) => (
  <EmptyState
    title={title}
    action={
      <Button tone="plain" size="small" onClick={onClear}>
        {clear}
      </Button>
    }
  >
    <p>{children}</p>
  </EmptyState>
)
