import type { ReactNode } from 'react'

/** Buttons that stay at the bottom of a dialog, above its content, while that scrolls. */
export const DialogFooter = ({ children }: { children: ReactNode }) => (
  <footer className="sticky -bottom-5 z-2 -mx-5 -mb-5 flex flex-wrap justify-end gap-2 border-t border-line bg-paper px-5 py-3 sm:-bottom-6 sm:-mx-6 sm:-mb-6 sm:px-6">
    {children}
  </footer>
)
