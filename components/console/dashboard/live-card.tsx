'use client'

import type { ReactNode } from 'react'
import { Card } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'

interface LiveCardProps {
  title: string
  /** The page with the details. */
  link: { href: string; title: string }
  problem: ProblemDocument | undefined
  /** Undefined while the check runs. */
  children: ReactNode | undefined
}
/** A check that runs while the reader already sees the page. */
export const LiveCard = ({ title, link, problem, children }: LiveCardProps) => (
  <Card title={title} actions={<TextLink href={link.href}>{link.title}</TextLink>}>
    {problem ? <ProblemAlert problem={problem} /> : (children ?? <Skeleton className="h-24" />)}
  </Card>
)
