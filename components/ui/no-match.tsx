'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { EmptyState } from './empty-state.tsx'

interface NoMatchProps {
  title: string
  onClear: () => void
  /** Why a record may be missing. */
  children?: ReactNode
}
/** The empty state of a list whose filters match nothing, with a button that clears them. */
export function NoMatch({ title, onClear, children }: NoMatchProps) {
  const t = useTranslations('common.filters')
  return (
    <EmptyState
      title={title}
      action={
        <Button tone="plain" size="small" onClick={onClear}>
          {t('clear')}
        </Button>
      }
    >
      {children && <p>{children}</p>}
    </EmptyState>
  )
}
