import { clsx } from 'clsx'
import { CircleCheck, CircleX, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode, Ref } from 'react'

const tones = {
  info: { look: 'border-line bg-accent-wash', Icon: Info, icon: 'text-accent' },
  done: { look: 'border-green/30 bg-green-wash', Icon: CircleCheck, icon: 'text-green' },
  warning: { look: 'border-amber/40 bg-amber-wash', Icon: TriangleAlert, icon: 'text-amber' },
  danger: { look: 'border-red/40 bg-red-wash', Icon: CircleX, icon: 'text-red' },
}

interface AlertProps {
  tone?: keyof typeof tones
  title: string
  children?: ReactNode
  /** Announced by screen readers when it appears: for the result of something that the reader did. */
  isLive?: boolean
  /** Lets the alert take the focus after the focused element was removed. */
  ref?: Ref<HTMLDivElement>
}

export function Alert({ tone = 'info', title, children, isLive = false, ref }: AlertProps) {
  const { look, Icon, icon } = tones[tone]
  return (
    <div
      ref={ref}
      {...(ref && { tabIndex: -1 })}
      role={isLive ? (tone === 'danger' ? 'alert' : 'status') : undefined}
      className={clsx('flex gap-3 rounded-box border px-4 py-3', look)}
    >
      <Icon aria-hidden className={clsx('mt-0.5 size-4.5 shrink-0', icon)} />
      <div className="grid min-w-0 gap-1">
        <p className="font-medium">{title}</p>
        {children && <div className="grid gap-2 wrap-anywhere">{children}</div>}
      </div>
    </div>
  )
}
