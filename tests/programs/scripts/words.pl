# Hashes, regular expressions, sorts and nested data, in the process itself and in children of it.
use strict;
use warnings;

sub note {
    open my $maps,   '<',  '/proc/self/maps' or die;
    open my $inside, '>>', 'inside'          or die;
    print $inside ((grep { /libhakmem/ } <$maps>) ? "true\n" : "false\n");
}

# A number for a list, in which every character of it counts.
sub digest {
    my $sum = 7;
    $sum = ($sum * 31 + unpack('%32C*', $_) * length) % 2147483647 for @_;
    return $sum;
}

sub words {
    my ($seed, $count) = @_;
    my ($text, $state) = ('', $seed);
    for (1 .. $count) {
        $state = ($state * 1103515245 + 12345) % 2147483648;
        $text .= chr(97 + $state % 26) x (1 + $state % 9) . ($state % 3 ? ' ' : ', ');
    }
    return $text;
}

note();
my $text = words(1, 120000);
my %count;
$count{$1}++ while $text =~ /\b([a-z]+)\b/g;
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_}\n" for @top[0 .. 9];
print scalar(@top), ' ', digest(@top), "\n";

(my $changed = $text) =~ s/([aeiou])\1*/<$1>/g;
print length($changed), ' ', digest(split /,\s*/, $changed), "\n";

my %tree;
$tree{substr $_, 0, 1}{length $_}{$_} = [split //] for map { "$_$_" } @top;
print digest(map { my $a = $_; map { "$a$_" . keys %{ $tree{$a}{$_} } } sort keys %{ $tree{$a} } } sort keys %tree), "\n";

my @lines = map { sprintf '%05d %s', ($_ * 7919) % 100000, 'x' x ($_ % 120) } 1 .. 100000;
print digest(sort @lines), ' ', digest(sort { length $a <=> length $b or $a cmp $b } @lines), "\n";

for my $child (1 .. 3) {
    my $pid = open(my $from, '-|') // die;
    if (!$pid) {
        note();
        print digest(reverse sort split ' ', words($child, 30000)), "\n";
        exit 0;
    }
    print "child $child: ", <$from>;
    close $from or die;
}
