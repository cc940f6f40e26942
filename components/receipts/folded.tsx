import type { ReactNode } from 'react'

/** Details that are closed on screen; globals.css opens them in print. */
export const Folded = ({ title, children }: { title: string; children: ReactNode }) => (
  <details className="border-t border-line pt-3">
    <summary className="min-h-6 cursor-pointer font-medium">{title}</summary>
    <div className="grid gap-3 pt-3">{children}</div>
  </details>
)
