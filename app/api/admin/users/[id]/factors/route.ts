import { app, route } from '#lib/app-instance.ts'

export const DELETE = route(app.accounts.removeUserFactors)
