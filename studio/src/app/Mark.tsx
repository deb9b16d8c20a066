export function Mark({ size = 22 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <g stroke="var(--panel)" strokeWidth="2.2" fill="var(--panel)">
        <path d="M10 10v12M10 16c0-4 12-2 12-7" fill="none" />
        <circle cx="10" cy="9" r="2.6" />
        <circle cx="10" cy="23" r="2.6" />
        <circle cx="22" cy="9" r="2.6" />
      </g>
    </svg>
  );
}
