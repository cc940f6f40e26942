import type { ReactNode } from 'react'
import { EmptyState } from './empty-state.tsx'

/** An `EmptyState` by its earlier name. Use `EmptyState` in new code. */
export const Empty = (props: { title: string; action?: ReactNode; children?: ReactNode }) => <EmptyState {...props} />
