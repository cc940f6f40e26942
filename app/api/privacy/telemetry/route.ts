import { app, route } from '#lib/app-instance.ts'

export const PUT = route(app.accounts.setTelemetry)
