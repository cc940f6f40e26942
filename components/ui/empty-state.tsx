import type { ReactNode } from 'react'

interface EmptyStateProps {
  /** What is missing: "No tokens yet". */
  title: string
  /** An icon of lucide-react with `aria-hidden`. */
  icon?: ReactNode
  /** The first action: a button or link. */
  action?: ReactNode
  /** What the list is for, in one or two sentences. */
  children?: ReactNode
}

/** The empty state of a list: its purpose and the first action. Put the heading of the page or section above it. */
export const EmptyState = ({ title, icon, action, children }: EmptyStateProps) => (
  <div className="grid justify-items-center gap-2 rounded-box border border-dashed border-edge px-5 py-10 text-center">
    {icon && <div className="text-quiet [&_svg]:size-6">{icon}</div>}
    <p className="font-medium">{title}</p>
    {children && <div className="grid max-w-prose gap-2 text-quiet">{children}</div>}
    {action && <div className="mt-2 flex flex-wrap justify-center gap-2">{action}</div>}
  </div>
)
