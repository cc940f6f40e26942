import { app, route } from '#lib/app.ts'

export const GET = route(app.accounts.sessions)
export const DELETE = route(app.accounts.revokeOtherSessions)
