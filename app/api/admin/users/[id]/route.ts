import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.accounts.user)
export const PATCH = route(app.accounts.changeRole)
