import type { ReactNode } from 'react'

/** The empty state of a list: its purpose and the first step. */
export const Empty = ({ title, action, children }: { title: string; action?: ReactNode; children?: ReactNode }) => (
  <div className="grid justify-items-start gap-3 rounded-box border border-dashed border-edge px-5 py-6">
    <p className="font-medium">{title}</p>
    {children && <div className="grid max-w-prose gap-2 text-quiet">{children}</div>}
    {action}
  </div>
)
